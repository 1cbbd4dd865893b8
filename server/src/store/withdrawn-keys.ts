import { createPublicKey } from 'node:crypto';
import type { KeyId, ServiceName } from '@signet/policy-engine/names';
import { type Kysely, sql } from 'kysely';
import type { ListDiff } from '../model/domain-change.ts';
import type { ServiceRecord } from '../model/records.ts';
import type { Schema } from './database-schema.ts';
import { diffLists } from './diff-domains.ts';

/** A registered key that is registered no more: it was removed, another one took its id, or its service was removed. */
export interface WithdrawnKey {
  readonly service: ServiceName;
  readonly id: KeyId;
}

/** The keys that a change of services withdraws. Pure. */
export function withdrawnKeys({ removed, changed }: ListDiff<ServiceRecord>): readonly WithdrawnKey[] {
  const ofRemoved = removed.flatMap(({ name, publicKeys }) => publicKeys.map(({ id }) => ({ service: name, id })));
  const ofChanged = changed.flatMap(({ before, after }) => {
    const keys = diffLists(before.publicKeys, after.publicKeys, ({ id }) => id);
    const replaced = keys.changed.filter((key) => !isSameKey(key.before.pem, key.after.pem)).map((key) => key.before);
    return [...keys.removed, ...replaced].map(({ id }) => ({ service: before.name, id }));
  });
  return [...ofRemoved, ...ofChanged];
}

/** The same key may be written in two ways. */
function isSameKey(before: string, after: string): boolean {
  return createPublicKey(before).equals(createPublicKey(after));
}

/** The certificates in force for which a key has vouched. `now` in seconds. */
export async function liveCertificatesOf(
  db: Kysely<Schema>,
  principal: string,
  key: KeyId,
  now: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('certificates')
    .select('serial')
    .where('subject', '=', principal)
    .where('vouched_key', '=', key)
    .where('kind', '=', sql.lit('service'))
    .where('revoked_at', 'is', null)
    .where('not_after', '>=', now)
    .orderBy('serial')
    .execute();
  return rows.map(({ serial }) => serial);
}
