import type { Jwk } from '@signet/policy-engine/wire';
import type { Kysely, Selectable } from 'kysely';
import type { SealedKey, SigningKeyRecord } from '../model/records.ts';
import type { Schema, SigningKeysTable } from './database-schema.ts';
import { optional, orNull } from './row-values.ts';

/** INVARIANT: records go to snapshots, audit log and answers; the sealed private half goes nowhere that did not ask for it. */
const publicColumns = [
  'kid',
  'purpose',
  'algorithm',
  'public_jwk',
  'created_at',
  'activate_at',
  'compromised_at',
] as const satisfies readonly (keyof SigningKeysTable)[];

export async function readSigningKeys(db: Kysely<Schema>): Promise<SigningKeyRecord[]> {
  const rows = await db
    .selectFrom('signing_keys')
    .select(publicColumns)
    .orderBy('activate_at')
    .orderBy('kid')
    .execute();
  return rows.map(signingKey);
}

export async function readSealedKeys(db: Kysely<Schema>): Promise<ReadonlyMap<string, SealedKey>> {
  const rows = await db
    .selectFrom('signing_keys')
    .select(['kid', 'sealing_key', 'sealed'])
    .where('sealed', 'is not', null)
    .execute();
  return new Map(
    rows.map(({ kid, sealing_key, sealed }) => [kid, { sealingKey: sealing_key ?? '', text: sealed ?? '' }]),
  );
}

export async function insertSigningKey(
  db: Kysely<Schema>,
  key: SigningKeyRecord,
  sealed: SealedKey | undefined,
): Promise<void> {
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
      sealing_key: orNull(sealed?.sealingKey),
      sealed: orNull(sealed?.text),
    })
    .execute();
}

function signingKey(row: Pick<Selectable<SigningKeysTable>, (typeof publicColumns)[number]>): SigningKeyRecord {
  return {
    kid: row.kid,
    purpose: row.purpose === 'token' ? 'token' : 'bundle',
    algorithm: 'ES256',
    // Written by `insertSigningKey` from a typed value; no other code writes this column.
    publicJwk: JSON.parse(row.public_jwk) as Jwk,
    createdAt: row.created_at,
    activateAt: row.activate_at,
    ...optional('compromisedAt', row.compromised_at),
  };
}
