import type { DomainName, KeyId, ServiceName } from '@signet/policy-engine/names';
import { NotFoundError, UnknownDomainError } from '../errors.ts';
import type { ChangeContext, ServiceRecord } from '../model/records.ts';
import type { Store } from '../model/store.ts';
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
  { domain: domainName, service: serviceName, keyId, pem }: NewServiceKey,
  context: ChangeContext,
): Promise<void> {
  const key = { id: keyId, pem: parsePublicKey(pem) };
  await store.change(context, async (transaction) => {
    const domain = await transaction.domain(domainName);
    if (domain === undefined) throw new UnknownDomainError(domainName);
    const service = domain.services.find(({ name }) => name === serviceName);
    if (service === undefined) throw new NotFoundError(`service \`${domainName}.${serviceName}\` does not exist`);
    const publicKeys = [...service.publicKeys.filter(({ id }) => id !== keyId), key];
    const changed: ServiceRecord = { ...service, publicKeys };
    const services = domain.services.map((other) => (other === service ? changed : other));
    await transaction.saveDomain({ ...domain, services });
  });
}
