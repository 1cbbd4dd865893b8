import { formatTimestamp } from '@signet/policy-engine/clock';
import { makeCursor, readCursor } from '../../management/paging.ts';
import type { AuditRecord } from '../../store/records.ts';
import type { AuditQuery } from '../../store/store.ts';
import type { RouteContext } from '../context.ts';
import type { ManagementRouteDeps } from './deps.ts';
import { answerView, pageRequestOf, queryOf } from './request.ts';

/** Answers one page of the audit log, newest first. */
export async function answerChanges(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  wanted: Pick<AuditQuery, 'domain' | 'object'>,
  show: (record: AuditRecord) => Record<string, unknown> = shownChange,
): Promise<void> {
  const { cursor, limit, list } = pageRequestOf(ctx, queryOf(ctx, ['limit', 'cursor']));
  const before = cursor === undefined ? undefined : Number(readCursor(cursor, list, deps.pagingSecret));
  const records = await deps.store.audit({
    ...wanted,
    limit: limit + 1,
    ...(before !== undefined && { before }),
  });
  const items = records.slice(0, limit);
  const last = items.at(-1);
  const next =
    records.length > limit && last !== undefined ? makeCursor(String(last.id), list, deps.pagingSecret) : undefined;
  answerView(ctx, { items: items.map(show), ...(next !== undefined && { next }) });
}

/** A record as the API shows it, with times and both sides as JSON. */
export function shownChange({ at, before, after, ...record }: AuditRecord): Record<string, unknown> {
  return {
    at: formatTimestamp(at),
    ...record,
    ...(before !== undefined && { before: JSON.parse(before) }),
    ...(after !== undefined && { after: JSON.parse(after) }),
  };
}
