import { generateKeyPairSync } from 'node:crypto';
import { parseDomainName, parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import { InvalidRequestError, NotFoundError, UnknownDomainError } from '@signet/server/errors';
import { registerServiceKey } from '@signet/server/management/service-keys';
import { type DomainChange, written } from '@signet/server/model/domain-change';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { memoryReader } from '#support/memory-reader';

const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString();
const media = domainContent({ name: 'media', services: { api: { 0: 'old', 1: 'other' }, web: { 0: 'web' } } });

/** The keys of each service after it, or what is thrown. */
async function register(domain: string, service: string, keyId: string, text = pem): Promise<unknown> {
  let saved: DomainChange | undefined;
  const transaction = {
    ...memoryReader([media]),
    save: async (change: DomainChange) => {
      saved = change;
    },
  };
  const store = {
    change: async (_: unknown, work: (transaction: never) => Promise<unknown>) => work(transaction as never),
  };
  const names = { domain: parseDomainName(domain), service: parseServiceName(service), keyId: parseKeyId(keyId) };
  await registerServiceKey(store as never, { ...names, pem: text }, { actor: 'test' });
  return (
    saved &&
    written(saved.services).map(({ name, publicKeys }) => [
      name as string,
      ...publicKeys.map((key) => `${key.id} ${key.pem === pem ? 'new' : key.pem}`),
    ])
  );
}

test('a key replaces that of its id, in its service alone', async (t) => {
  t.deepEqual(await register('media', 'api', '0'), [['api', '0 new', '1 other']]);
  t.deepEqual(await register('media', 'web', '2'), [['web', '0 web', '2 new']]);
});

test('a domain or service that is not there, and what is not a key', async (t) => {
  await t.throwsAsync(register('far', 'api', '0'), { instanceOf: UnknownDomainError });
  await t.throwsAsync(register('media', 'none', '0'), {
    instanceOf: NotFoundError,
    message: 'service `media.none` does not exist',
  });
  await t.throwsAsync(register('media', 'api', '0', 'x'), { instanceOf: InvalidRequestError });
});
