import { randomBytes } from 'node:crypto';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import type { InstanceKey } from '@signet/server/model/instance-store';
import type { Store } from '@signet/server/model/store';

/** Registers the instance with a join token, by its digest; false when the token was refused, and nothing recorded. */
export async function spendJoinToken(
  { certificates, instances }: Pick<Store, 'certificates' | 'instances'>,
  digest: string,
  key: InstanceKey,
  at: number,
): Promise<boolean> {
  const given = { serial: randomBytes(16).toString('hex'), fingerprint: 'f', notAfter: at + 99 };
  const holder = parsePrincipalName(`${key.domain}.${key.service}`);
  const row = { issuer: 'i', kind: 'instance', subject: holder, holder, notBefore: at, notAfter: at + 99 } as const;
  const { provider, instanceId } = key;
  await certificates.intend({ ...row, serial: given.serial, provider, instanceId }, at);
  try {
    await instances.register(key, given, { clientOnly: false, joinToken: digest, at });
    return true;
  } catch (error) {
    if (error instanceof ForbiddenError) return false;
    throw error;
  }
}
