import { matchesStrongly } from '../bundles/entity-tags.ts';
import type { AppContext } from './context.ts';
import { plainTag } from './plain-answer.ts';
import { TransportError } from './transport-error.ts';

/**
 * Step 1 of RFC 9110 §13.2.2 for what is read: throws 412 when `If-Match` names nothing that the answer is. Changes judge the header
 * themselves, before they are made.
 */
export function requireMatch(ctx: AppContext): void {
  const header = ctx.req.headers['if-match'];
  if (header === undefined || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return;
  // Preconditions are of no account where the answer is no success without them (§13.2.1).
  if (ctx.status !== 200 && ctx.status !== 304) return;
  if (!matchesStrongly(header, plainTag(ctx) ?? (ctx.response.get('ETag') || undefined))) {
    throw new TransportError(412, 'what is at this path has none of the entity tags of `If-Match`');
  }
}
