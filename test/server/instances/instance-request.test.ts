import { InvalidNameError } from '@signet/policy-engine/names';
import { InvalidRequestError } from '@signet/server/errors';
import {
  parseProviderName,
  parseRefreshInformation,
  parseRegisterInformation,
} from '@signet/server/instances/instance-request';
import test from 'ava';

const body = { provider: 'sys.cloud', domain: 'media', service: 'player', csr: 'CSR', attestationData: 'x' };
const absent = { ssh: undefined, requestedSeconds: undefined, hostname: undefined, cloud: undefined };
const plain = { ...body, ...absent, instanceId: undefined };

const registered: readonly (readonly [note: string, more: object, read: object])[] = [
  ['the least', {}, {}],
  ['nothing but null', { ssh: null, expiryTime: null, hostname: null, cloud: null, x509CertInstanceId: null }, {}],
  ['empty texts', { ssh: '', hostname: '', cloud: '', x509CertInstanceId: '' }, {}],
  [
    'all of it',
    { ssh: 's', hostname: 'H1.Example.com', cloud: 'aws', x509CertInstanceId: 'i:1' },
    { ssh: 's', hostname: 'h1.example.com', cloud: 'aws', instanceId: 'i:1' },
  ],
  ['localhost', { hostname: 'LocalHost' }, { hostname: 'localhost' }],
  ['a life', { expiryTime: 5 }, { requestedSeconds: 300 }],
  ['the default life', { expiryTime: 0 }, { requestedSeconds: 0 }],
  ['the longest life', { expiryTime: 2 ** 31 - 1 }, { requestedSeconds: 60 * (2 ** 31 - 1) }],
  ['names in capitals', { provider: 'Sys.Cloud', domain: 'Media', service: 'Player' }, {}],
];
for (const [note, more, read] of registered) {
  test(`a registration: ${note}`, (t) => {
    t.deepEqual(parseRegisterInformation({ ...body, ...more }, 60) as object, { ...plain, ...read });
  });
}

const large = (field: string) => `\`${field}\` is too large`;
const missing = (field: string) => `\`${field}\` is missing or not of its type`;
const faults: readonly (readonly [more: unknown, message: string])[] = [
  [{ csr: undefined }, '`csr` is required'],
  [{ csr: '' }, '`csr` is required'],
  [{ attestationData: undefined }, '`attestationData` is required'],
  [{ attestationData: '' }, '`attestationData` is required'],
  [{ attestationData: null }, '`attestationData` is required'],
  [{ provider: undefined }, missing('provider')],
  [{ csr: 1 }, missing('csr')],
  [{ csr: 'x'.repeat(65_537) }, large('csr')],
  [{ expiryTime: 1.5 }, missing('expiryTime')],
  [{ expiryTime: -1 }, missing('expiryTime')],
  [{ expiryTime: 2 ** 31 }, large('expiryTime')],
  [{ hostname: '*.example.com' }, '`hostname` is not a host name'],
  [{ hostname: 'single' }, '`hostname` is not a host name'],
  [{ hostname: '-x.example.com' }, '`hostname` is not a host name'],
];
for (const [more, message] of faults) {
  test(`no registration: ${JSON.stringify(more).slice(0, 50)}, ${Object.values(more as object).join().length} ${message}`, (t) => {
    const act = () => parseRegisterInformation({ ...body, ...(more as object) }, 60);
    t.throws(act, { instanceOf: InvalidRequestError, message });
  });
}

test('a body that is not an object', (t) => {
  for (const text of [undefined, null, 'x', []]) {
    const expected = { instanceOf: InvalidRequestError, message: 'the body is missing or not of its type' };
    t.throws(() => parseRefreshInformation(text, 1), expected);
  }
});

test('names that are none', (t) => {
  for (const more of [{ domain: 'a..b' }, { service: 'a.b' }, { provider: 'x y.z' }, { x509CertInstanceId: '..' }]) {
    t.throws(() => parseRegisterInformation({ ...body, ...more }, 1), { instanceOf: InvalidNameError });
  }
});

test('a refresh asks for one certificate or the other', (t) => {
  const ask = (information: object) => () => parseRefreshInformation(information, 1);
  t.deepEqual(ask({ csr: 'c' })(), { ...absent, csr: 'c', attestationData: '' });
  t.deepEqual(ask({ ssh: 's' })(), { ...absent, ssh: 's', csr: undefined, attestationData: '' });
  for (const nothing of [{}, { csr: '', ssh: '' }, { csr: null }]) {
    t.throws(ask(nothing), { instanceOf: InvalidRequestError, message: '`csr` or `ssh` is required' });
  }
});

test('a provider is a service of a domain', (t) => {
  t.is(parseProviderName('Sys.Cloud') as string, 'sys.cloud');
  for (const name of [7, undefined, 'cloud', 'media:group.team', 'media:role.x']) {
    t.throws(() => parseProviderName(name), undefined, String(name));
  }
});
