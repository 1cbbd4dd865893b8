import { parsePrincipalName } from '@signet/policy-engine/names';
import { type Kysely, sql } from 'kysely';
import type { LiveSshCertificate, SshSelection } from '../model/ssh-selection.ts';
import { rowSerial } from '../ssh/certificate-log.ts';
import type { Schema } from './database-schema.ts';

/** The SSH certificates of a serial number or key id that were not revoked and have not expired at `now` (seconds). */
export async function readLiveSshCertificates(
  db: Kysely<Schema>,
  selection: SshSelection,
  now: number,
): Promise<readonly LiveSshCertificate[]> {
  const live = db
    .selectFrom('certificates')
    .select(['serial', 'holder'])
    // Written as the index has it, which is only then used.
    .where(sql<boolean>`kind in ('ssh-user', 'ssh-host')`)
    .where('revoked_at', 'is', null)
    .where('not_after', '>=', now);
  const found =
    selection.by === 'serial'
      ? live.where('serial', '=', rowSerial(selection.serial))
      : live.where('subject', '=', selection.keyId);
  const rows = await found.execute();
  return rows.map(({ serial, holder }) => ({ serial, owner: parsePrincipalName(holder) }));
}
