import type { ExpressionBuilder, Kysely, Selectable } from 'kysely';
import { ForbiddenError } from '../errors.ts';
import type { RecordingConditions } from '../model/certificate-store.ts';
import type {
  GivenCertificate,
  InstanceDetails,
  InstanceKey,
  InstanceQuery,
  InstanceRecord,
  InstanceStatus,
  InstanceStore,
  JoinToken,
  Lineage,
  PresentedSerial,
  RefreshedCertificate,
  Rotation,
  TokenUse,
} from '../model/instance-store.ts';
import { instanceColumns, toInstance, whereInstance } from './certificate-rows.ts';
import { instanceStatements } from './certificate-statements.ts';
import type { InstancesTable, Schema } from './database-schema.ts';
import type { GuardedDatabase } from './guarded-database.ts';
import { readInstances } from './list-instances.ts';
import type { Recorder } from './recorder.ts';
import { flag } from './row-values.ts';

/** The instances of a store over any database of the query layer. */
export class KyselyInstanceStore implements InstanceStore {
  readonly #database: GuardedDatabase;
  readonly #recorder: Recorder;
  readonly #statements = instanceStatements();

  constructor(database: GuardedDatabase, recorder: Recorder) {
    this.#database = database;
    this.#recorder = recorder;
  }

  async find(key: InstanceKey): Promise<InstanceRecord | undefined> {
    const { rows } = await this.#database.read((db) => this.#statements.find.execute(db, instanceColumns(key)));
    return rows[0] && toInstance(rows[0]);
  }

  list(query: InstanceQuery): Promise<readonly InstanceRecord[]> {
    return this.#database.read((db) => readInstances(db, query));
  }

  statusOf(key: InstanceKey, presented: string): Promise<InstanceStatus | undefined> {
    const held = { serial: presented, provider: key.provider, instance_id: key.instanceId };
    return this.#database.read(async (db) => {
      const status = await this.#statusOf(db, key, presented);
      if (status.lineage === 'current' || status.lineage === 'previous') return status;
      // Outside of the lineage: it may be an older certificate of this instance, or one of another.
      const { rows } = await this.#statements.isHeld.execute(db, held);
      return rows.length === 0 ? undefined : status;
    });
  }

  async register(
    key: InstanceKey,
    given: GivenCertificate,
    details: InstanceDetails,
    conditions?: RecordingConditions,
  ): Promise<void> {
    const { serial, fingerprint, notAfter } = given;
    const values = {
      ...instanceColumns(key),
      hostname: details.hostname ?? null,
      serial,
      at: details.at,
      not_after: notAfter,
      client_only: flag(details.clientOnly),
      ssh_allowed: flag(details.sshAllowed === true),
    };
    await this.#recorder.record(conditions, async (db) => {
      if (details.joinToken !== undefined) await spendJoinToken(db, details.joinToken, { key, at: details.at });
      await this.#recorder.confirm(db, serial, fingerprint);
      await this.#statements.register.execute(db, values);
    });
  }

  rotate(
    key: InstanceKey,
    presented: PresentedSerial,
    given: RefreshedCertificate,
    conditions?: RecordingConditions,
  ): Promise<Rotation> {
    const { serial, fingerprint, notAfter, sshAllowed } = given;
    const columns = { ...instanceColumns(key), serial, presented: presented.serial, at: presented.at };
    const values = { ...columns, not_after: notAfter, ssh_allowed: flag(sshAllowed === true) };
    return this.#recorder.record(conditions, async (db) => {
      // Common case: one statement compares and changes, and needs no query before.
      const { numAffectedRows: moved } = await this.#statements.rotate.execute(db, values);
      if (moved !== 1n) return (await this.#statusOf(db, key, presented.serial)).lineage;
      await this.#recorder.confirm(db, serial, fingerprint);
      return 'moved';
    });
  }

  allowSsh(key: InstanceKey, presented: string, allowed: boolean): Promise<Lineage> {
    const values = { ...instanceColumns(key), presented, ssh_allowed: flag(allowed) };
    return this.#database.change(async (db) => {
      await this.#statements.allowSsh.execute(db, values);
      return (await this.#statusOf(db, key, presented)).lineage;
    });
  }

  async addJoinToken(digest: string, token: JoinToken, conditions?: RecordingConditions): Promise<void> {
    await this.#recorder.record(conditions, async (db) => {
      const { expires, createdBy } = token;
      await db
        .insertInto('join_tokens')
        .values({ digest, ...instanceColumns(token), created_by: createdBy, expires, spent_at: null, ended_at: null })
        .execute();
    });
  }

  isJoinTokenOpen(digest: string, key: InstanceKey, at: number): Promise<boolean> {
    return this.#database.read(async (db) => {
      const open = db.selectFrom('join_tokens').select('digest').where(isOpen(digest, { key, at }));
      return (await open.executeTakeFirst()) !== undefined;
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

  spendAttestationToken(digest: string, key: InstanceKey, expires: number): Promise<TokenUse> {
    const columns = instanceColumns(key);
    return this.#database.change(async (db) => {
      const { numInsertedOrUpdatedRows: inserted } = await db
        .insertInto('attestation_tokens')
        .values({ digest, ...columns, expires })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (inserted === 1n) return 'first';
      const own = db.selectFrom('attestation_tokens').select('digest').where('digest', '=', digest);
      return (await whereInstance(own, columns).executeTakeFirst()) === undefined ? 'foreign' : 'again';
    });
  }

  async pruneAttestationTokens(expiredBefore: number, limit: number): Promise<number> {
    const expired = await this.#database.read((db) =>
      db.selectFrom('attestation_tokens').select('digest').where('expires', '<', expiredBefore).limit(limit).execute(),
    );
    if (expired.length === 0) return 0;
    const digests = expired.map(({ digest }) => digest);
    await this.#database.change((db) => db.deleteFrom('attestation_tokens').where('digest', 'in', digests).execute());
    return digests.length;
  }

  async #statusOf(db: Kysely<Schema>, key: InstanceKey, presented: string): Promise<InstanceStatus> {
    const { rows } = await this.#statements.lineage.execute(db, instanceColumns(key));
    const [row] = rows;
    return {
      lineage: lineageOf(row, presented),
      clientOnly: row?.client_only === 1,
      sshAllowed: row?.ssh_allowed === 1,
    };
  }
}

/**
 * Spends a join token in one statement that decides and changes: of two registrations at once, the second finds nothing that it could change.
 */
async function spendJoinToken(db: Kysely<Schema>, digest: string, use: JoinTokenUse): Promise<void> {
  const spending = db.updateTable('join_tokens').set({ spent_at: use.at }).where(isOpen(digest, use));
  const { numUpdatedRows: spent } = await spending.executeTakeFirstOrThrow();
  if (spent !== 1n) throw new ForbiddenError('the join token was used or has expired: create another one');
}

interface JoinTokenUse {
  readonly key: InstanceKey;
  /** Seconds since the epoch. */
  readonly at: number;
}

/** Neither spent nor ended nor expired, and for this instance. */
function isOpen(digest: string, { key, at }: JoinTokenUse) {
  const { provider, domain, service, instance_id } = instanceColumns(key);
  return ({ and, eb }: ExpressionBuilder<Schema, 'join_tokens'>) =>
    and([
      and({ digest, provider, domain, service, instance_id }),
      and({ spent_at: null, ended_at: null }),
      eb('expires', '>', at),
    ]);
}

/** Relation of a serial number to a row. */
function lineageOf(
  row: Pick<Selectable<InstancesTable>, 'revoked' | 'current_serial' | 'previous_serial' | 'previous_used'> | undefined,
  presented: string,
): Lineage {
  if (row === undefined) return 'missing';
  if (row.revoked === 1) return 'revoked';
  if (presented === row.current_serial) return 'current';
  return presented === row.previous_serial && row.previous_used === 0 ? 'previous' : 'foreign';
}
