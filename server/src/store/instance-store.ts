import type { Kysely } from 'kysely';
import type { Revocation } from '../certificates/certificate-store.ts';
import {
  type GivenCertificate,
  type InstanceDetails,
  type InstanceKey,
  type InstanceQuery,
  type InstanceRecord,
  type InstanceStore,
  type JoinToken,
  type Lineage,
  lineageOf,
} from '../instances/instance-store.ts';
import { confirmCertificate, instanceColumns, revokeRows, toInstance } from './certificate-rows.ts';
import type { GuardedDatabase } from './guarded-database.ts';
import { readInstances } from './list-instances.ts';
import type { Schema } from './schema.ts';

/** The instances of a store over any database of the query layer. */
export class KyselyInstanceStore implements InstanceStore {
  readonly #database: GuardedDatabase;

  constructor(database: GuardedDatabase) {
    this.#database = database;
  }

  find(key: InstanceKey): Promise<InstanceRecord | undefined> {
    return this.#database.read((db) => findInstance(db, key));
  }

  list(query: InstanceQuery): Promise<readonly InstanceRecord[]> {
    return this.#database.read((db) => readInstances(db, query));
  }

  async register(key: InstanceKey, given: GivenCertificate, details: InstanceDetails, at: number): Promise<void> {
    const values = {
      hostname: details.hostname ?? null,
      current_serial: given.serial,
      previous_serial: null,
      registered_at: at,
      refreshed_at: at,
      not_after: given.notAfter,
      revoked: 0,
      client_only: details.clientOnly ? 1 : 0,
    };
    await this.#database.change(async (db) => {
      await confirmCertificate(db, given.serial, given.fingerprint);
      await db
        .insertInto('instances')
        .values({ ...instanceColumns(key), ...values })
        .onConflict((conflict) =>
          conflict.columns(['provider', 'domain', 'service', 'instance_id']).doUpdateSet(values),
        )
        .execute();
    });
  }

  rotate(key: InstanceKey, presented: string, given: GivenCertificate, at: number): Promise<Lineage> {
    return this.#database.change(async (db) => {
      const record = await findInstance(db, key);
      const lineage = lineageOf(record, presented);
      if (lineage !== 'current' && lineage !== 'previous') return lineage;
      await confirmCertificate(db, given.serial, given.fingerprint);
      await whereKey(
        db.updateTable('instances').set({
          current_serial: given.serial,
          previous_serial: presented,
          refreshed_at: at,
          not_after: given.notAfter,
        }),
        key,
      ).execute();
      return lineage;
    });
  }

  revoke(key: InstanceKey, revocation: Revocation): Promise<void> {
    return this.#database.change(async (db) => {
      await whereKey(db.updateTable('instances').set({ revoked: 1 }), key).execute();
      await revokeInstanceCertificates(db, key, revocation);
    });
  }

  remove(key: InstanceKey, revocation: Revocation): Promise<boolean> {
    return this.#database.change(async (db) => {
      const { numDeletedRows: removed } = await whereKey(db.deleteFrom('instances'), key).executeTakeFirstOrThrow();
      const revoked = await revokeInstanceCertificates(db, key, revocation);
      return removed > 0n || revoked;
    });
  }

  async addJoinToken(digest: string, token: JoinToken): Promise<void> {
    await this.#database.change(async (db) => {
      const { expires, createdBy } = token;
      await db
        .insertInto('join_tokens')
        .values({ digest, ...instanceColumns(token), created_by: createdBy, expires: expires, spent_at: null })
        .execute();
    });
  }

  spendJoinToken(digest: string, key: InstanceKey, at: number): Promise<boolean> {
    return this.#database.change(async (db) => {
      // One statement decides and changes: of two at once, the second finds nothing that it could change.
      const query = db
        .updateTable('join_tokens')
        .set({ spent_at: at })
        .where('digest', '=', digest)
        .where('spent_at', 'is', null)
        .where('expires', '>', at)
        .where('provider', '=', key.provider)
        .where('domain', '=', key.domain)
        .where('service', '=', key.service)
        .where('instance_id', '=', key.instanceId);
      const { numUpdatedRows: spent } = await query.executeTakeFirstOrThrow();
      return spent === 1n;
    });
  }

  async pruneJoinTokens(endedBefore: number, limit: number): Promise<number> {
    const ended = await this.#database.read((db) =>
      db.selectFrom('join_tokens').select('digest').where('expires', '<', endedBefore).limit(limit).execute(),
    );
    if (ended.length === 0) return 0;
    const digests = ended.map(({ digest }) => digest);
    await this.#database.change((db) => db.deleteFrom('join_tokens').where('digest', 'in', digests).execute());
    return digests.length;
  }
}

interface Filterable<Self> {
  where(column: 'provider' | 'domain' | 'service' | 'instance_id', operator: '=', value: string): Self;
}

function whereKey<Query extends Filterable<Query>>(query: Query, key: InstanceKey): Query {
  return query
    .where('provider', '=', key.provider)
    .where('domain', '=', key.domain)
    .where('service', '=', key.service)
    .where('instance_id', '=', key.instanceId);
}

async function findInstance(db: Kysely<Schema>, key: InstanceKey): Promise<InstanceRecord | undefined> {
  const row = await whereKey(db.selectFrom('instances').selectAll(), key).executeTakeFirst();
  return row && toInstance(row);
}

/** Every certificate of the instance that has not ended, also those that nobody received. */
async function revokeInstanceCertificates(
  db: Kysely<Schema>,
  key: InstanceKey,
  revocation: Revocation,
): Promise<boolean> {
  const rows = await db
    .selectFrom('certificates')
    .select('serial')
    .where('provider', '=', key.provider)
    .where('instance_id', '=', key.instanceId)
    .where('holder', '=', `${key.domain}.${key.service}`)
    .where('kind', 'in', ['instance', 'ssh-host'])
    .where('revoked_at', 'is', null)
    .where('not_after', '>=', revocation.at)
    .execute();
  await revokeRows(
    db,
    rows.map(({ serial }) => serial),
    revocation,
  );
  return rows.length > 0;
}
