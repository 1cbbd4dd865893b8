import type { Jwk } from '@signet/policy-engine/wire';
import type { Kysely, Selectable } from 'kysely';
import type { SigningKeyRecord } from '../model/records.ts';
import type { Schema, SigningKeysTable } from './database-schema.ts';
import { optional, orNull } from './row-values.ts';

export async function readSigningKeys(db: Kysely<Schema>): Promise<SigningKeyRecord[]> {
  const rows = await db.selectFrom('signing_keys').selectAll().orderBy('activate_at').orderBy('kid').execute();
  return rows.map(signingKey);
}

export async function insertSigningKey(db: Kysely<Schema>, key: SigningKeyRecord): Promise<void> {
  await db
    .insertInto('signing_keys')
    .values({
      kid: key.kid,
      purpose: key.purpose,
      algorithm: key.algorithm,
      public_jwk: JSON.stringify(key.publicJwk),
      created_at: key.createdAt,
      activate_at: key.activateAt,
      compromised_at: orNull(key.compromisedAt),
    })
    .execute();
}

function signingKey(row: Selectable<SigningKeysTable>): SigningKeyRecord {
  return {
    kid: row.kid,
    purpose: row.purpose === 'token' ? 'token' : 'bundle',
    algorithm: 'ES256',
    // Written by `insertSigningKey` from a typed value; nobody else writes this column.
    publicJwk: JSON.parse(row.public_jwk) as Jwk,
    createdAt: row.created_at,
    activateAt: row.activate_at,
    ...optional('compromisedAt', row.compromised_at),
  };
}
