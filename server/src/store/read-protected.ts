import { type DomainName, parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import type { ProtectedRole } from '../model/store.ts';
import type { Schema } from './database-schema.ts';
import { chunks } from './row-values.ts';

/* Domains and roles whose changes need approvals; partial indices hold these alone. */

const valuesAStatement = 500;

export async function readProtectedRoles(db: Kysely<Schema>, domain: DomainName): Promise<readonly ProtectedRole[]> {
  const rows = db.selectFrom('roles').select(['name', 'approvals']).where('domain', '=', domain);
  const found = await rows.where('approvals', '>', 0).orderBy('name').execute();
  return found.map(({ name, approvals }) => ({ name: parseRoleName(name), approvals: approvals ?? 0 }));
}

/** The domains among these in which some change needs approvals, with the most that one needs. */
export async function readProtectedAmong(
  db: Kysely<Schema>,
  names: readonly DomainName[],
): Promise<ReadonlyMap<DomainName, number>> {
  const found = new Map<DomainName, number>();
  for (const part of chunks([...new Set(names)], valuesAStatement)) {
    const domains = db.selectFrom('domains').select(['name', 'approvals']).where('name', 'in', part);
    const roles = db.selectFrom('roles').select(['domain as name', 'approvals']).where('domain', 'in', part);
    const rows = [
      ...(await domains.where('approvals', '>', 0).execute()),
      ...(await roles.where('approvals', '>', 0).execute()),
    ];
    for (const { name, approvals } of rows) {
      const domain = parseDomainName(name);
      found.set(domain, Math.max(found.get(domain) ?? 0, approvals ?? 0));
    }
  }
  return found;
}
