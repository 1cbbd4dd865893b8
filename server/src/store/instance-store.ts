import type { Kysely, Selectable } from 'kysely';
import type {
  GivenCertificate,
  InstanceDetails,
  InstanceKey,
  InstanceQuery,
  InstanceRecord,
  InstanceStore,
  JoinToken,
  Lineage,
  Rotation,
  Standing,
} from '../instances/instance-store.ts';
import { instanceColumns, toInstance } from './certificate-rows.ts';
import { instanceStatements } from './certificate-statements.ts';
import type { GuardedDatabase } from './guarded-database.ts';
import { readInstances } from './list-instances.ts';
import type { InstancesTable, Schema } from './schema.ts';

/** The instances of a store over any database of the query layer. */
export class KyselyInstanceStore implements InstanceStore {
  readonly #database: GuardedDatabase;
  readonly #statements = instanceStatements();

  constructor(database: GuardedDatabase) {
    this.#database = database;
  }

  async find(key: InstanceKey): Promise<InstanceRecord | undefined> {
    const { rows } = await this.#database.read((db) => this.#statements.find.execute(db, instanceColumns(key)));
    return rows[0] && toInstance(rows[0]);
  }

  list(query: InstanceQuery): Promise<readonly InstanceRecord[]> {
    return this.#database.read((db) => readInstances(db, query));
  }

  standing(key: InstanceKey, presented: string): Promise<Standing | undefined> {
    const held = { serial: presented, provider: key.provider, instance_id: key.instanceId };
    return this.#database.read(async (db) => {
      const standing = await this.#standing(db, key, presented);
      if (standing.lineage === 'current' || standing.lineage === 'previous') return standing;
      // Not of the lineage: it may be an older certificate of this instance, or one of another.
      const { rows } = await this.#statements.isHeld.execute(db, held);
      return rows.length === 0 ? undefined : standing;
    });
  }

  async register(key: InstanceKey, given: GivenCertificate, details: InstanceDetails, at: number): Promise<void> {
    const { serial, fingerprint, notAfter } = given;
    const values = {
      ...instanceColumns(key),
      hostname: details.hostname ?? null,
      serial,
      at,
      not_after: notAfter,
      client_only: details.clientOnly ? 1 : 0,
    };
    await this.#database.change(async (db) => {
      await this.#statements.confirm.execute(db, { serial, fingerprint });
      await this.#statements.register.execute(db, values);
    });
  }

  rotate(key: InstanceKey, presented: string, given: GivenCertificate, at: number): Promise<Rotation> {
    const { serial, fingerprint, notAfter } = given;
    const values = { ...instanceColumns(key), serial, presented, at, not_after: notAfter };
    return this.#database.change(async (db) => {
      // One statement compares and changes: it is the common case, and needs no look before.
      const { numAffectedRows: moved } = await this.#statements.rotate.execute(db, values);
      if (moved !== 1n) return (await this.#standing(db, key, presented)).lineage;
      await this.#statements.confirm.execute(db, { serial, fingerprint });
      return 'moved';
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

  async #standing(db: Kysely<Schema>, key: InstanceKey, presented: string): Promise<Standing> {
    const { rows } = await this.#statements.lineage.execute(db, instanceColumns(key));
    return { lineage: lineageOf(rows[0], presented), clientOnly: rows[0]?.client_only === 1 };
  }
}

/** How a serial number stands to a row. */
function lineageOf(
  row: Pick<Selectable<InstancesTable>, 'revoked' | 'current_serial' | 'previous_serial'> | undefined,
  presented: string,
): Lineage {
  if (row === undefined) return 'missing';
  if (row.revoked === 1) return 'revoked';
  if (presented === row.current_serial) return 'current';
  return presented === row.previous_serial ? 'previous' : 'foreign';
}
