import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import { type PrincipalName, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { type Kysely, type Selectable, sql } from 'kysely';
import {
  type CertificateRecord,
  type CertificateRow,
  type CertificateStore,
  type HolderQuery,
  type LastCrl,
  type OutstandingCertificates,
  type PublishedCrl,
  type RecordingConditions,
  type RevocationRow,
  type RevokedCertificate,
  x509Kinds,
} from '../model/certificate-store.ts';
import { type InstanceColumns, newCertificate, reasonOf, toCertificate } from './certificate-rows.ts';
import { certificateStatements } from './certificate-statements.ts';
import type { CertificatesTable, Schema } from './database-schema.ts';
import type { GuardedDatabase } from './guarded-database.ts';
import type { Recorder } from './recorder.ts';
import { SharedIntents } from './shared-intents.ts';

/** The certificates of a store over any database of the query layer. */
export class KyselyCertificateStore implements CertificateStore {
  readonly #database: GuardedDatabase;
  readonly #recorder: Recorder;
  readonly #statements = certificateStatements();
  readonly #intents: SharedIntents;

  constructor(database: GuardedDatabase, recorder: Recorder) {
    this.#database = database;
    this.#recorder = recorder;
    this.#intents = new SharedIntents(database);
  }

  intend(row: CertificateRow, at: number): Promise<void> {
    return this.#intents.write(newCertificate(row, at));
  }

  async confirm(serial: string, fingerprint: string, conditions?: RecordingConditions): Promise<void> {
    await this.#recorder.record(conditions, (db) => this.#recorder.confirm(db, serial, fingerprint));
  }

  async find(serial: string): Promise<CertificateRecord | undefined> {
    const { rows } = await this.#database.read((db) => this.#statements.find.execute(db, { serial }));
    return rows[0] && toCertificate(rows[0]);
  }

  async ofHolder({ holder, validAt, issuedFrom, after, limit }: HolderQuery): Promise<readonly CertificateRecord[]> {
    const rows = await this.#database.read((db) => {
      let select = db
        .selectFrom('certificates')
        .selectAll()
        .where('holder', '=', holder)
        .where('intended_at', '>=', issuedFrom)
        .where('kind', 'in', x509Kinds)
        .orderBy('not_after', 'desc')
        .orderBy('serial', 'desc')
        .limit(limit);
      if (validAt !== undefined) {
        select = select.where('not_after', '>=', validAt).where('revoked_at', 'is', null).where('state', '=', 'issued');
      }
      if (after !== undefined) {
        const { notAfter, serial } = after;
        select = select.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('not_after', 'serial'), '<', tuple(notAfter, serial)),
        );
      }
      return select.execute();
    });
    return rows.map(toCertificate).filter((row) => row !== undefined);
  }

  async revocationsAfter(sequence: number, now: number): Promise<readonly RevocationRow[]> {
    const revocations: RevocationRow[] = [];
    let last = sequence;
    for (;;) {
      const page = await this.#database.read((db) => readRevocations(db, last, now));
      for (const row of page) revocations.push(row);
      last = page.at(-1)?.sequence ?? last;
      if (page.length < revocationsAtOnce) return revocations;
      // Other requests are answered while many are read.
      await yieldToOthers();
    }
  }

  async lastRevocation(): Promise<{ readonly sequence: number; readonly at: number }> {
    const row = await this.#database.read((db) =>
      db
        .selectFrom('certificates')
        .select(['revocation_sequence', 'revoked_at'])
        .where('revocation_sequence', '>', 0)
        .orderBy('revocation_sequence', 'desc')
        .limit(1)
        .executeTakeFirst(),
    );
    return { sequence: row?.revocation_sequence ?? 0, at: row?.revoked_at ?? 0 };
  }

  async orphans(before: number): Promise<readonly CertificateRow[]> {
    const rows = await this.#database.read((db) =>
      db
        .selectFrom('certificates')
        .selectAll()
        // Literal in the statement: a partial index is used only if its condition is visible.
        .where('state', '=', sql.lit('intended'))
        .where('intended_at', '<', before)
        .orderBy('intended_at')
        .execute(),
    );
    return rows.map(toCertificate).filter((row) => row !== undefined);
  }

  async outstanding(now: number, besides: PrincipalName): Promise<readonly OutstandingCertificates[]> {
    const rows = await this.#database.read((db) =>
      db
        .selectFrom('certificates')
        .select([
          'issuer',
          (select) => select.fn.countAll().as('count'),
          (select) => select.fn.max('not_after').as('last'),
        ])
        .where('kind', 'in', x509Kinds)
        .where('holder', '<>', besides)
        .where('state', '=', 'issued')
        .where('revoked_at', 'is', null)
        .where('not_after', '>=', now)
        .groupBy('issuer')
        .orderBy('issuer')
        .execute(),
    );
    return rows.map(({ issuer, count, last }) => ({ issuer, count: Number(count), lastEnd: Number(last) }));
  }

  async prune(endedBefore: number, limit: number): Promise<number> {
    // The last revocation stays: the numbers of those to come follow from it.
    const ended = await this.#database.read((db) =>
      db
        .selectFrom('certificates')
        .select(['serial', 'provider', 'instance_id', 'holder'])
        .where('not_after', '<', endedBefore)
        .where((where) =>
          where.or([
            where('revocation_sequence', 'is', null),
            where(
              'revocation_sequence',
              '<',
              where.selectFrom('certificates').select((select) => select.fn.max('revocation_sequence').as('last')),
            ),
          ]),
        )
        .limit(limit)
        .execute(),
    );
    if (ended.length === 0) return 0;
    const serials = ended.map(({ serial }) => serial);
    await this.#database.change(async (db) => {
      await db.deleteFrom('certificates').where('serial', 'in', serials).execute();
      for (const key of instancesOf(ended)) {
        await this.#statements.forget.execute(db, { ...key, endedBefore });
      }
    });
    return serials.length;
  }

  async endedRevocations(issuer: string, from: number, before: number): Promise<readonly RevokedCertificate[]> {
    const ended: RevokedCertificate[] = [];
    let last = { not_after: from, serial: '' };
    for (;;) {
      const page = await this.#database.read((db) => readEnded(db, { issuer, before }, last));
      for (const row of page) ended.push(toRevoked(row));
      last = page.at(-1) ?? last;
      if (page.length < revocationsAtOnce) return ended;
      await yieldToOthers();
    }
  }

  async lastCrl(issuer: string, known?: number): Promise<LastCrl | undefined> {
    const row = await this.#database.read((db) =>
      db
        .selectFrom('revocation_lists')
        .select(['number', 'sequence', 'this_update', 'next_update'])
        .select(({ eb }) =>
          eb
            .case()
            .when('number', '=', known ?? -1)
            .then(null)
            .else(eb.ref('list'))
            .end()
            .as('list'),
        )
        .where('issuer', '=', issuer)
        .executeTakeFirst(),
    );
    return (
      row && {
        number: row.number,
        sequence: row.sequence,
        thisUpdate: row.this_update,
        nextUpdate: row.next_update,
        ...(row.list !== null && { der: Buffer.from(row.list, 'base64') }),
      }
    );
  }

  publishCrl(issuer: string, crl: PublishedCrl, after: number | undefined): Promise<boolean> {
    const { number, sequence, thisUpdate, nextUpdate, der } = crl;
    const list = der.toString('base64');
    const values = { number, sequence, this_update: thisUpdate, next_update: nextUpdate, list };
    return this.#database.change(async (db) => {
      const insert = db.insertInto('revocation_lists').values({ issuer, ...values });
      const done =
        after === undefined
          ? await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst()
          : await db
              .updateTable('revocation_lists')
              .set(values)
              .where('issuer', '=', issuer)
              .where('number', '=', after)
              .executeTakeFirst();
      return ('numUpdatedRows' in done ? done.numUpdatedRows : done.numInsertedOrUpdatedRows) === 1n;
    });
  }
}

/** The instances whose certificates these are, each once. */
function instancesOf(
  rows: readonly Pick<Selectable<CertificatesTable>, 'provider' | 'instance_id' | 'holder'>[],
): Iterable<InstanceColumns> {
  const keys = new Map<string, InstanceColumns>();
  for (const { provider, instance_id, holder } of rows) {
    const tenant = splitPrincipal(parsePrincipalName(holder));
    if (provider === null || instance_id === null || tenant === undefined) continue;
    keys.set(JSON.stringify([provider, holder, instance_id]), { provider, instance_id, ...tenant });
  }
  return keys.values();
}

const revocationsAtOnce = 500;

async function readRevocations(db: Kysely<Schema>, sequence: number, now: number): Promise<readonly RevocationRow[]> {
  const rows = await db
    .selectFrom('certificates')
    .select(['revocation_sequence', 'serial', 'issuer', 'revoked_at', 'revocation_reason', 'not_after', 'fingerprint'])
    .where('revocation_sequence', '>', sequence)
    .where('not_after', '>=', now)
    .orderBy('revocation_sequence')
    .limit(revocationsAtOnce)
    .execute();
  return rows.map((row) => ({
    ...toRevoked(row),
    sequence: row.revocation_sequence ?? 0,
    issuer: row.issuer,
    notAfter: row.not_after,
    ...(row.fingerprint !== null && { fingerprint: row.fingerprint }),
  }));
}

type RevokedColumns = Pick<Selectable<CertificatesTable>, 'serial' | 'revoked_at' | 'revocation_reason'>;

function toRevoked(row: RevokedColumns): RevokedCertificate {
  return { serial: row.serial, revokedAt: row.revoked_at ?? 0, reason: reasonOf(row.revocation_reason) };
}

/** A page of those that follow `last` by their end. */
function readEnded(
  db: Kysely<Schema>,
  { issuer, before }: { readonly issuer: string; readonly before: number },
  last: Pick<Selectable<CertificatesTable>, 'not_after' | 'serial'>,
) {
  return db
    .selectFrom('certificates')
    .select(['serial', 'revoked_at', 'revocation_reason', 'not_after'])
    .where('revocation_sequence', 'is not', null)
    .where('issuer', '=', issuer)
    .where('not_after', '<', before)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('not_after', 'serial'), '>', tuple(last.not_after, last.serial)))
    .orderBy('not_after')
    .orderBy('serial')
    .limit(revocationsAtOnce)
    .execute();
}
