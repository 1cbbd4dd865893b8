import { withDelegatedKeys } from '@signet/server/management/planted-keys';
import test from 'ava';
import { changeOf } from '#support/change-facts';
import { domainContent } from '#support/domain-sketch';

test('a key that a delegate registers is marked unless the very same was there under its id', (t) => {
  const before = domainContent({ name: 'media', services: { api: { 0: 'a', 1: 'b' }, web: { 0: 'w' } } });
  const after = domainContent({
    name: 'media',
    services: { api: { 0: 'a', 1: 'a', 2: 'b', 3: 'c' }, web: { 0: 'a' }, fresh: { 0: 'a' } },
  });
  const { services } = withDelegatedKeys(changeOf(before, after));
  const marks = [...services.changed.map((change) => change.after), ...services.added].map(({ name, publicKeys }) => [
    name as string,
    publicKeys.map(({ id, pem, delegated }) => `${id}${pem}${delegated === true ? ' delegated' : ''}`),
  ]);
  t.deepEqual(marks, [
    ['api', ['0a', '1a delegated', '2b delegated', '3c delegated']],
    ['web', ['0a delegated']],
    ['fresh', ['0a delegated']],
  ]);
});

test('a mark stays with its key', (t) => {
  const before = domainContent({ name: 'media', services: { api: { 0: 'a' } } });
  const marked = before.services.map((service) => ({
    ...service,
    publicKeys: service.publicKeys.map((key) => ({ ...key, delegated: true as const })),
  }));
  const after = domainContent({ name: 'media', services: { api: { 0: 'a', 1: 'b' } } });
  const { services } = withDelegatedKeys(changeOf({ ...before, services: marked }, after));
  t.deepEqual(
    services.changed[0]?.after.publicKeys.map(({ delegated }) => delegated),
    [true, true],
  );
});
