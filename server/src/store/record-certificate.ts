import { type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import { ForbiddenError } from '../errors.ts';
import type { RecordedCertificate } from '../model/certificate-store.ts';
import type { Schema } from './database-schema.ts';

/** Records a certificate as issued and spends the token that asked for it. Throws `ForbiddenError`, before anything is changed that counts. */
export async function recordCertificate(db: Kysely<Schema>, certificate: RecordedCertificate): Promise<void> {
  const { serial, fingerprint, presented, token, principal } = certificate;
  if (presented !== undefined && (await isRevoked(db, presented))) {
    throw new ForbiddenError('the certificate that asked was revoked');
  }
  if (token !== undefined) await spendToken(db, token, { serial, principal });
  const { numUpdatedRows } = await db
    .updateTable('certificates')
    .set({ state: 'issued', fingerprint })
    .where('serial', '=', serial)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows !== 1n) throw new ForbiddenError('the certificate was revoked while it was made');
}

export async function isRevoked(db: Kysely<Schema>, serial: string): Promise<boolean> {
  const certificate = db.selectFrom('certificates').select('serial').where('serial', '=', serial);
  return (await certificate.where('revoked_at', 'is not', null).executeTakeFirst()) !== undefined;
}

/** Records a login in the table of used tokens: the certificate issued for the token takes the place of an instance. */
async function spendToken(
  db: Kysely<Schema>,
  { digest, expires }: NonNullable<RecordedCertificate['token']>,
  { serial, principal }: { readonly serial: string; readonly principal: PrincipalName },
): Promise<void> {
  const parts = splitPrincipal(principal);
  if (parts === undefined) throw new Error('a group is given no certificate');
  const { numInsertedOrUpdatedRows: inserted } = await db
    .insertInto('attestation_tokens')
    .values({ digest, provider: 'login', ...parts, instance_id: serial, expires })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (inserted !== 1n) throw new ForbiddenError('the ID token was used before');
}
