import { createHash } from 'node:crypto';
import { matchesEntityTag } from '../bundles/entity-tags.ts';
import { answerJson, type RouteContext } from './context.ts';

/** Answers JSON that is the same for all callers and may be kept for a while, with an entity tag of its bytes; 304 when the caller has it. */
export function answerCached(ctx: RouteContext, json: string, maxAgeSeconds: number): void {
  const tag = `"${createHash('sha256').update(json).digest('base64url').slice(0, 27)}"`;
  ctx.set('Cache-Control', `max-age=${maxAgeSeconds}`);
  ctx.set('ETag', tag);
  if (matchesEntityTag(ctx.req.headers['if-none-match'], tag)) ctx.status = 304;
  else answerJson(ctx, json);
}
