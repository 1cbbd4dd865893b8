import type { Kysely } from 'kysely';
import { type ListDiff, written } from '../model/domain-change.ts';
import { rowOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { ServiceRecord } from '../model/records.ts';
import type { Schema } from './database-schema.ts';
import { diffLists } from './diff-domains.ts';
import { chunks, flag } from './row-values.ts';

interface ServiceContext {
  readonly db: Kysely<Schema>;
  readonly now: number;
}

/** Writes the services that differ; keys that stay keep the time they were registered at. */
export async function writeServices(
  { db, now }: ServiceContext,
  domain: string,
  diff: ListDiff<ServiceRecord>,
): Promise<void> {
  for (const service of diff.removed) {
    await db.deleteFrom('services').where('domain', '=', domain).where('name', '=', service.name).execute();
  }
  for (const service of diff.added) await writeService({ db, now }, domain, undefined, service);
  for (const { before, after } of diff.changed) await writeService({ db, now }, domain, before, after);
}

async function writeService(
  { db, now }: ServiceContext,
  domain: string,
  before: ServiceRecord | undefined,
  service: ServiceRecord,
): Promise<void> {
  const row = rowOf(recordFields.service, service);
  await db
    .insertInto('services')
    .values({ domain, name: service.name, credentials_from: 0, ...row })
    .onConflict((conflict) => conflict.columns(['domain', 'name']).doUpdateSet(row))
    .execute();
  await writeKeys({ db, now }, domain, before, service);
  await writeHosts(db, domain, service);
}

async function writeKeys(
  { db, now }: ServiceContext,
  domain: string,
  before: ServiceRecord | undefined,
  service: ServiceRecord,
): Promise<void> {
  const diff = diffLists(before?.publicKeys ?? [], service.publicKeys, (key) => key.id);
  for (const key of [...diff.removed, ...diff.changed.map((change) => change.before)]) {
    await db
      .deleteFrom('service_keys')
      .where('domain', '=', domain)
      .where('service', '=', service.name)
      .where('key_id', '=', key.id)
      .execute();
  }
  for (const keys of chunks(written(diff), 100)) {
    const rows = keys.map(({ id, pem, delegated = false }) => {
      return { domain, service: service.name, key_id: id, pem, created_at: now, delegated: flag(delegated) };
    });
    await db.insertInto('service_keys').values(rows).execute();
  }
}

async function writeHosts(db: Kysely<Schema>, domain: string, service: ServiceRecord): Promise<void> {
  await db.deleteFrom('service_hosts').where('domain', '=', domain).where('service', '=', service.name).execute();
  const rows = service.hosts.map((host, position) => ({ domain, service: service.name, position, host }));
  for (const part of chunks(rows, 500)) await db.insertInto('service_hosts').values(part).execute();
}
