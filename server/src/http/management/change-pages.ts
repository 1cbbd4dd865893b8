import { formatTimestamp } from '@signet/policy-engine/clock';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import { makeCursor, readCursor } from '../../management/paging.ts';
import type { AuditRecord } from '../../model/records.ts';
import type { AuditQuery } from '../../model/store.ts';
import { JsonText } from '../../steps/json-steps.ts';
import type { Steps } from '../../steps/steps.ts';
import type { RouteContext } from '../context.ts';
import { lookedAt } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
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
  const { records, next } = await deps.store.auditPage({
    ...wanted,
    limit,
    ...(before !== undefined && { before }),
    looked: (rows) => lookedAt(ctx, 'row', rows),
  });
  const more = next !== undefined && { next: makeCursor(String(next), list, deps.pagingSecret) };
  await answerView(ctx, { items: await runInSlices(mapInSteps(records, show)), ...more });
}

function* mapInSteps<Item, Shown>(items: readonly Item[], show: (item: Item) => Shown): Steps<Shown[]> {
  const shown: Shown[] = [];
  for (const item of items) {
    shown.push(show(item));
    yield;
  }
  return shown;
}

/** A record as the API shows it, with times and both sides as JSON. */
export function shownChange({ at, before, after, ...record }: AuditRecord): Record<string, unknown> {
  return {
    at: formatTimestamp(at),
    ...record,
    ...(before !== undefined && { before: new JsonText(before) }),
    ...(after !== undefined && { after: new JsonText(after) }),
  };
}
