import { hash } from 'node:crypto';
import { matchesEntityTag } from '../bundles/entity-tags.ts';
import { answerJson, type RouteContext } from './context.ts';

/** Answers JSON that is the same for all callers and may be kept for a while, with an entity tag of its bytes; 304 when the caller has it. */
export function answerCached(ctx: RouteContext, json: string, maxAgeSeconds: number): void {
  if (!callerHas(ctx, entityMarkOf(json), maxAgeSeconds)) answerJson(ctx, json);
}

/** Entity tag of a content: distinguishes its bytes from all others. */
export function entityMarkOf(bytes: string | Uint8Array): string {
  return hash('sha256', bytes, 'base64url').slice(0, 27);
}

/**
 * Sets cache headers and entity tag, from `mark`, which distinguishes its bytes from all others of the path. Returns true if the caller has it:
 * then the answer is 304, and complete.
 */
export function callerHas(ctx: RouteContext, mark: string, maxAgeSeconds: number): boolean {
  const tag = `"${mark}"`;
  ctx.set('cache-control', `max-age=${maxAgeSeconds}`);
  ctx.set('etag', tag);
  const has = matchesEntityTag(ctx.req.headers['if-none-match'], tag);
  if (has) ctx.status = 304;
  return has;
}
