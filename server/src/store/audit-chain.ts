import { createHash } from 'node:crypto';
import type { Kysely, Selectable } from 'kysely';
import type { AuditVerdict, StoreState } from '../model/store.ts';
import { quotedPieces } from '../steps/json-steps.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { fitting, lengthOfSides } from './audit-lengths.ts';
import type { AuditTable, Schema } from './database-schema.ts';

type UnchainedAudit = Omit<Selectable<AuditTable>, 'hash'>;

/**
 * The hash of an audit record: SHA-256, in hex, over the hash of the record before it (empty for the first) and everything that the
 * record says. Who changes, drops, adds or moves a record breaks every hash after it.
 */
export function auditHash(previous: string, row: UnchainedAudit): string {
  return runAtOnce(auditHashInSteps(previous, row));
}

/** The same in slices: what was before and after may be many megabytes. */
export function* auditHashInSteps(previous: string, row: UnchainedAudit): Steps<string> {
  const hash = createHash('sha256');
  const said = [
    previous,
    row.id,
    row.at,
    row.actor,
    row.certificate_serial,
    row.request_id,
    row.reason,
    row.action,
    row.subject,
    row.version,
    row.counter,
    row.before,
    row.after,
  ];
  // Same text as `JSON.stringify` of the array.
  for (const [index, one] of said.entries()) {
    hash.update(index === 0 ? '[' : ',');
    for (const piece of typeof one === 'string' ? quotedPieces(one) : [JSON.stringify(one)]) {
      hash.update(piece);
      yield;
    }
  }
  return hash.update(']').digest('hex');
}

const recordsARead = 1000;

/** Every record, the oldest first. */
async function* recordsInOrder(db: Kysely<Schema>): AsyncGenerator<Selectable<AuditTable>> {
  for (let last = 0; ; ) {
    const following = db.selectFrom('audit').where('id', '>', last).orderBy('id');
    const looked = await following.select(['id', lengthOfSides]).limit(recordsARead).execute();
    const fit = fitting(looked.map(({ length }) => length));
    if (fit === 0) return;
    const rows = await following.selectAll().limit(fit).execute();
    yield* rows;
    last = rows.at(-1)?.id ?? last;
  }
}

/** Recomputes every hash. With `known`, a head noted earlier, also that the chain still passes through it. */
export async function verifyAuditChain(db: Kysely<Schema>, known?: string): Promise<AuditVerdict> {
  let [head, records] = ['', 0];
  let isKnown = known === undefined;
  for await (const row of recordsInOrder(db)) {
    if (row.hash !== auditHash(head, row)) return { records, head, fault: `record ${row.id} was changed` };
    [head, records] = [row.hash, records + 1];
    isKnown ||= head === known;
  }
  const meta = await db.selectFrom('meta').select('audit_head').where('id', '=', 1).executeTakeFirstOrThrow();
  if (meta.audit_head !== head) return { records, head, fault: 'records at the end are missing' };
  if (!isKnown) return { records, head, fault: 'the chain does not pass through the given head' };
  return { records, head };
}

const recordsAStatement = 1000;

/**
 * True if the audit log passes through the head of that state: rows of the feed are removed, audit records never. True before the first change,
 * which every history shares.
 */
export async function passesThrough(
  db: Kysely<Schema>,
  { counter, head }: Pick<StoreState, 'counter' | 'head'>,
): Promise<boolean> {
  if (head === '') return true;
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    // Numbers alone: the texts of old records are large.
    const page = db.selectFrom('audit').select(['id', 'counter']).where('id', '<', before);
    const rows = await page.orderBy('id', 'desc').limit(recordsAStatement).execute();
    // The record that the change left behind has its counter, in stores of old programs an earlier one.
    const upTo = rows.filter((row) => row.counter <= counter);
    const found = db.selectFrom('audit').select('id').where('hash', '=', head);
    const [newest, oldest] = [upTo[0]?.id, upTo.find((row) => row.counter < counter)?.id ?? upTo.at(-1)?.id];
    if (newest !== undefined && oldest !== undefined) {
      const record = found.where('id', '>=', oldest).where('id', '<=', newest);
      if ((await record.executeTakeFirst()) !== undefined) return true;
    }
    const last = rows.at(-1);
    if (rows.length < recordsAStatement || last === undefined || last.counter < counter) return false;
    before = last.id;
  }
}
