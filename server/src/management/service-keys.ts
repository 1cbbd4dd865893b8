import type { DomainName, KeyId, ServiceName } from '@signet/policy-engine/names';
import { NotFoundError, UnknownDomainError } from '../errors.ts';
import { unchanged } from '../model/domain-change.ts';
import type { ChangeContext, ServiceRecord } from '../model/records.ts';
import type { Store } from '../model/store.ts';
import { diffLists } from '../store/diff-domains.ts';
import { parsePublicKey } from './public-key.ts';

/** A public key, of whom, and under which id. */
interface NewServiceKey {
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly keyId: KeyId;
  readonly pem: string;
}

/**
 * Registers the public key of a service, with which its principal tokens are verified; a key of the same id is replaced.
 * Throws `UnknownDomainError`, `NotFoundError` for a service that does not exist, `InvalidRequestError` for no public key.
 */
export async function registerServiceKey(
  store: Store,
  { domain, service, keyId, pem }: NewServiceKey,
  context: ChangeContext,
): Promise<void> {
  const key = { id: keyId, pem: parsePublicKey(pem) };
  await store.change(context, async (transaction) => {
    const stored = await transaction.attributes(domain);
    if (stored === undefined) throw new UnknownDomainError(domain);
    const [before] = await transaction.services(domain, service);
    if (before === undefined) throw new NotFoundError(`service \`${domain}.${service}\` does not exist`);
    const publicKeys = [...before.publicKeys.filter(({ id }) => id !== keyId), key].sort((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    const after: ServiceRecord = { ...before, publicKeys };
    await transaction.save({ ...unchanged(stored), services: diffLists([before], [after], ({ name }) => name) });
  });
}
