import type {
  CertificateRecord,
  CertificateRow,
  CertificateStore,
  Revocation,
  RevocationRow,
} from '../certificates/certificate-store.ts';
import { ConflictError } from '../errors.ts';
import {
  confirmCertificate,
  fromCertificate,
  reasonOf,
  revokeRows,
  toCertificate,
  toMs,
  toSeconds,
} from './certificate-rows.ts';
import type { GuardedDatabase } from './guarded-database.ts';

/** The certificates of a store over any database of the query layer. */
export class KyselyCertificateStore implements CertificateStore {
  readonly #database: GuardedDatabase;

  constructor(database: GuardedDatabase) {
    this.#database = database;
  }

  async intend(row: CertificateRow, at: number): Promise<void> {
    const { numInsertedOrUpdatedRows: inserted } = await this.#database.change((db) =>
      db
        .insertInto('certificates')
        .values(fromCertificate(row, at))
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
    if (inserted !== 1n) throw new ConflictError('a certificate with this serial number exists');
  }

  async confirm(serial: string, fingerprint: string): Promise<void> {
    await this.#database.change((db) => confirmCertificate(db, serial, fingerprint));
  }

  async find(serial: string): Promise<CertificateRecord | undefined> {
    const row = await this.#database.read((db) =>
      db.selectFrom('certificates').selectAll().where('serial', '=', serial).executeTakeFirst(),
    );
    return row && toCertificate(row);
  }

  revoke(serial: string, revocation: Revocation): Promise<boolean> {
    return this.#database.change(async (db) => {
      const row = await db
        .selectFrom('certificates')
        .select(['serial', 'issuer', 'not_after'])
        .where('serial', '=', serial)
        .where('revoked_at', 'is', null)
        .executeTakeFirst();
      if (row === undefined) return false;
      await revokeRows(db, [row], revocation);
      return true;
    });
  }

  async revocationsAfter(sequence: number, now: number): Promise<readonly RevocationRow[]> {
    const rows = await this.#database.read((db) =>
      db
        .selectFrom('revocations')
        .selectAll()
        .where('sequence', '>', sequence)
        .where('not_after', '>=', toMs(now))
        .orderBy('sequence')
        .execute(),
    );
    return rows.map((row) => ({
      sequence: row.sequence,
      serial: row.serial,
      issuer: row.issuer,
      revokedAt: toSeconds(row.revoked_at),
      reason: reasonOf(row.reason),
      notAfter: toSeconds(row.not_after),
    }));
  }

  async orphans(before: number): Promise<readonly CertificateRow[]> {
    const rows = await this.#database.read((db) =>
      db
        .selectFrom('certificates')
        .selectAll()
        .where('state', '=', 'intent')
        .where('issued_at', '<', toMs(before))
        .orderBy('issued_at')
        .execute(),
    );
    return rows.map(toCertificate).filter((row) => row !== undefined);
  }

  nextCrlNumber(issuer: string): Promise<number> {
    return this.#database.change(async (db) => {
      const row = await db.selectFrom('crl_numbers').select('number').where('issuer', '=', issuer).executeTakeFirst();
      const number = (row?.number ?? 0) + 1;
      await db
        .insertInto('crl_numbers')
        .values({ issuer, number })
        .onConflict((conflict) => conflict.column('issuer').doUpdateSet({ number }))
        .execute();
      return number;
    });
  }
}
