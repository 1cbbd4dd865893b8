import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import { foldAscii, maxNameLength } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import { makeCursor, readCursor } from '../../management/paging.ts';
import type { AuditRecord } from '../../model/records.ts';
import type { AuditQuery } from '../../model/store.ts';
import { JsonText } from '../../steps/json-steps.ts';
import type { Steps } from '../../steps/steps.ts';
import type { RouteContext } from '../context.ts';
import { lookedAt } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { answerView, pageRequestOf, queryOf } from './request.ts';

type ChangeFilter = 'actor' | 'subject' | 'since' | 'until' | 'after' | 'about';

/** Filters that every list of the changes of a domain or of all accepts. */
export const commonFilters: readonly ChangeFilter[] = ['actor', 'since', 'until', 'after', 'about'];

interface ChangesQuery extends Pick<AuditQuery, 'domain' | 'object'> {
  readonly filters?: readonly ChangeFilter[];
  /** A record without what the caller may not look at; absent: all of it. */
  readonly seen?: (record: AuditRecord) => AuditRecord;
}

/** Answers one page of the audit log, newest first; with `after`, oldest first. */
export async function answerChanges(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  { filters = [], seen, ...wanted }: ChangesQuery,
  show: (record: AuditRecord) => Record<string, unknown> = shownChange,
): Promise<void> {
  const query = queryOf(ctx, ['limit', 'cursor', ...filters]);
  const { cursor, limit, list } = pageRequestOf(ctx, query);
  const filter = filterOf(query);
  const name = query.get('about');
  const from = cursor === undefined ? undefined : Number(readCursor(cursor, list, deps.pagingSecret));
  const { records, next } = await deps.store.auditPage({
    ...wanted,
    ...filter,
    ...(name !== undefined && { about: { name: aboutName(name), ...(seen !== undefined && { seen }) } }),
    limit,
    ...(from !== undefined && (filter.after === undefined ? { before: from } : { after: from })),
    looked: (rows) => lookedAt(ctx, 'row', rows),
  });
  const more = next !== undefined && { next: makeCursor(String(next), list, deps.pagingSecret) };
  await answerView(ctx, { items: await runInSlices(mapInSteps(records, show)), ...more });
}

/** Names of principals, domains and members. Throws `InvalidRequestError`. */
function aboutName(text: string): string {
  if (text.length <= maxNameLength && /^[\w.*:-]+$/.test(text)) return foldAscii(text);
  throw new InvalidRequestError(`about must be a name of at most ${maxNameLength} characters`);
}

function filterOf(query: ReadonlyMap<string, string>): Pick<AuditQuery, Exclude<ChangeFilter, 'about'>> {
  const [actor, subject, since, until, after] = ['actor', 'subject', 'since', 'until', 'after'].map((name) =>
    query.get(name),
  );
  if (after !== undefined && !/^\d{1,15}$/.test(after)) {
    throw new InvalidRequestError('after must be the id of a record, or 0');
  }
  return {
    ...(actor !== undefined && { actor }),
    ...(subject !== undefined && { subject }),
    ...(since !== undefined && { since: timeIn(since, 'since') }),
    ...(until !== undefined && { until: timeIn(until, 'until') }),
    ...(after !== undefined && { after: Number(after) }),
  };
}

function timeIn(text: string, name: string): number {
  const at = parseTimestamp(text);
  if (at === undefined) throw new InvalidRequestError(`${name} must be a UTC time such as \`2027-01-01T00:00:00Z\``);
  return at;
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
