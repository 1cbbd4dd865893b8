import { formatTimestamp } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import type { AuditRecord } from '../model/records.ts';
import type { AuditQuery, Store } from '../model/store.ts';
import { isAbout } from '../store/audit-about.ts';
import type { ConnectionOptions } from './connection.ts';
import { manage } from './manage/management-client.ts';

/** Filter of a list of records. Times are milliseconds. */
export type AuditFilter = Pick<AuditQuery, 'subject' | 'actor' | 'since' | 'until'> & {
  readonly domain?: string;
  /** Folded. */
  readonly about?: string;
};

/** A record as it is printed. */
export type ShownRecord = Readonly<Record<string, unknown>> & { readonly id: number };

interface Page {
  readonly items: readonly ShownRecord[];
  /** Cursor; present when more may follow. */
  readonly next?: string;
}

/** Source of audit records, in pages: newest first, or those after the record `after`. */
export interface AuditSource {
  page(query: AuditFilter & { after?: number; limit: number; cursor?: string }): Promise<Page>;
}

/** The store of the configuration. */
export function storeSource(store: Pick<Store, 'auditPage'>): AuditSource {
  return {
    async page({ domain, cursor, about: name, ...query }) {
      const about = name === undefined ? {} : { about: { name } };
      const from = cursor === undefined ? {} : { [query.after === undefined ? 'before' : 'after']: Number(cursor) };
      const scope = domain === undefined ? {} : { domain: parseDomainName(domain) };
      const { records, next } = await store.auditPage({ ...query, ...scope, ...about, ...from });
      return { items: records.map(shown), ...(next !== undefined && { next: String(next) }) };
    },
  };
}

function shown({ at, ...record }: AuditRecord): ShownRecord {
  return { at: formatTimestamp(at), ...record };
}

const pageSchema = z.object({ items: z.array(z.looseObject({ id: z.int() })), next: z.string().exactOptional() });

/** Audit source of the management API: all records for system operators, those of one domain for callers who may look at it. */
export function serverSource(options: ConnectionOptions): AuditSource {
  return {
    async page({ domain, since, until, ...query }) {
      const given = {
        ...query,
        ...(since !== undefined && { since: formatTimestamp(since) }),
        ...(until !== undefined && { until: formatTimestamp(until) }),
      };
      const texts = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]]));
      const path = domain === undefined ? ['changes'] : ['domains', domain, 'changes'];
      return pageSchema.parse(await manage(options, { method: 'GET', path, query: Object.fromEntries(texts) }));
    },
  };
}

/** True if a record as it is printed is about the name. */
export function isAboutShown({ actor, subject, before, after }: ShownRecord, name: string): boolean {
  const text = (side: unknown) => (typeof side === 'string' ? side : JSON.stringify(side));
  const sides = {
    ...(before !== undefined && { before: text(before) }),
    ...(after !== undefined && { after: text(after) }),
  };
  return isAbout({ actor: String(actor), subject: String(subject), ...sides }, name);
}

const pageSize = 100;

/** The newest records that fit the filter, at most `limit` of them. */
export async function* newestRecords(
  source: AuditSource,
  filter: AuditFilter,
  limit: number,
): AsyncGenerator<ShownRecord> {
  let cursor: string | undefined;
  let left = limit;
  do {
    const wanted = Math.min(left, pageSize);
    const page = await source.page({ ...filter, limit: wanted, ...(cursor !== undefined && { cursor }) });
    yield* page.items;
    left -= page.items.length;
    cursor = page.next;
  } while (cursor !== undefined && left > 0);
}

/** Existing records after the record `after`, the oldest first. */
export async function* recordsAfter(
  source: AuditSource,
  filter: AuditFilter,
  after: number,
): AsyncGenerator<ShownRecord> {
  let cursor: string | undefined;
  do {
    const page = await source.page({ ...filter, after, limit: pageSize, ...(cursor !== undefined && { cursor }) });
    yield* page.items;
    cursor = page.next;
  } while (cursor !== undefined);
}
