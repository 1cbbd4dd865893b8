import type { DomainName } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import { ConflictError } from '../errors.ts';
import type { EndedName, FormHolder } from '../model/store.ts';
import { dnsFormOf } from '../x509/naming.ts';
import type { Schema } from './database-schema.ts';
import { chunks } from './row-values.ts';

/** Holder of the DNS form that a domain of this name would have; undefined if no other domain has it. */
export async function readFormHolder(db: Kysely<Schema>, name: DomainName): Promise<FormHolder | undefined> {
  const row = await db
    .selectFrom('domains')
    .select(['name', 'deleted'])
    .where('dns_form', '=', dnsFormOf(name))
    .where('name', '<>', name)
    .executeTakeFirst();
  // Parsed when it was written.
  return row && { domain: row.name as DomainName, deleted: row.deleted === 1 };
}

/** Error for a domain that cannot be created since another one has its form in DNS. */
export function formTaken(name: DomainName, holder: DomainName): ConflictError {
  const form = dnsFormOf(name);
  return new ConflictError(`domain \`${name}\` would have the DNS name \`${form}\`, which domain \`${holder}\` has`);
}

/**
 * Assigns a domain its form in DNS. A new one is refused where an existing domain has it (`ConflictError`), an earlier one gets it when it is
 * free. That of a deleted domain is free for a domain that may use the name. Returns whether it has it now.
 */
export async function claimDnsForm(db: Kysely<Schema>, name: DomainName, isNew: boolean): Promise<boolean> {
  const holder = await readFormHolder(db, name);
  if (holder?.deleted === false && isNew) throw formTaken(name, holder.domain);
  if (holder?.deleted === false) return false;
  const update = db.updateTable('domains');
  if (holder !== undefined) await update.set({ dns_form: null }).where('name', '=', holder.domain).execute();
  await update
    .set({ dns_form: dnsFormOf(name) })
    .where('name', '=', name)
    .execute();
  return true;
}

const namesAStatement = 500;

/** Names of the given ones that were deleted before, and not used again since. */
export async function readEndedNames(db: Kysely<Schema>, names: readonly string[]): Promise<readonly EndedName[]> {
  const found: EndedName[] = [];
  for (const part of chunks(names, namesAStatement)) {
    const rows = db.selectFrom('ended_names').select(['name', 'ended_at']).where('name', 'in', part).orderBy('name');
    for (const row of await rows.execute()) found.push({ name: row.name, endedAt: row.ended_at });
  }
  return found;
}

/** Notes that a name came to an end. */
export async function noteEnd(db: Kysely<Schema>, name: string, at: number, by: string): Promise<void> {
  const end = { ended_at: at, ended_by: by };
  await db
    .insertInto('ended_names')
    .values({ name, ...end })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(end))
    .execute();
}

/** Removes a name from the deleted ones, as it is used again. Returns the time of deletion; undefined if it was never deleted. */
export async function takeEndedName(db: Kysely<Schema>, name: string): Promise<number | undefined> {
  const [end] = await readEndedNames(db, [name]);
  if (end === undefined) return undefined;
  await db.deleteFrom('ended_names').where('name', '=', name).execute();
  return end.endedAt;
}
