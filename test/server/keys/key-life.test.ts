import { keySkewMs, keyStates, nextKeyChange, publishedKeys, signingOrder } from '@signet/server/keys/key-life';
import { newSigningKey } from '@signet/server/keys/new-signing-key';
import test from 'ava';
import { calculateJwkThumbprint } from 'jose';

const hour = 3_600_000;
const life = { token: 2 * hour, bundle: 5 * hour };
const one = newSigningKey('token', 0, 0).record;
const two = newSigningKey('token', hour, 2 * hour).record;
const three = newSigningKey('token', 2 * hour, 3 * hour).record;
const bundle = newSigningKey('bundle', 0, 0).record;
const records = [three, bundle, one, two];
const twoLost = { ...two, compromisedAt: 2.5 * hour };

const moments: readonly (readonly [name: string, now: number, states: readonly string[]])[] = [
  ['at first', 0, ['active', 'next', 'next', 'active']],
  ['just before the second signs', 2 * hour - 1, ['active', 'next', 'next', 'active']],
  ['when the second signs', 2 * hour, ['retired', 'active', 'next', 'active']],
  ['when the third signs', 3 * hour, ['retired', 'retired', 'active', 'active']],
  ['when tokens of the first may still live', 4 * hour + keySkewMs - 1, ['retired', 'retired', 'active', 'active']],
  ['when they have ended', 4 * hour + keySkewMs, ['withdrawn', 'retired', 'active', 'active']],
  ['long after', 100 * hour, ['withdrawn', 'withdrawn', 'active', 'active']],
];

for (const [name, now, states] of moments) {
  test(`states ${name}`, (t) => {
    const found = keyStates(records, now, life);
    t.deepEqual(
      [one, two, three, bundle].map(({ kid }) => found.get(kid)),
      [...states],
    );
    const published = publishedKeys(records, now, life).map(({ kid }) => kid);
    t.deepEqual(
      published.sort(),
      [one, two, three, bundle]
        .filter((_, at) => states[at] !== 'withdrawn')
        .map(({ kid }) => kid)
        .sort(),
    );
    t.is(signingOrder(records, 'token', now)[0]?.kid, [one, two, three][states.indexOf('active')]?.kid);
  });
}

test('a compromised key neither signs nor is published, and the one before takes over', (t) => {
  const with_ = [one, twoLost, bundle];
  const now = 2.6 * hour;
  t.is(keyStates(with_, now, life).get(two.kid), 'withdrawn');
  t.is(keyStates(with_, now, life).get(one.kid), 'active');
  t.is(signingOrder(with_, 'token', now)[0]?.kid, one.kid);
  t.false(publishedKeys(with_, now, life).some(({ kid }) => kid === two.kid));
});

test('the next change is told in advance', (t) => {
  t.is(nextKeyChange(records, 0, life), 2 * hour);
  t.is(nextKeyChange([bundle], 100 * hour, life), Number.POSITIVE_INFINITY);
});

test('published keys are public, padded and named by their thumbprint', async (t) => {
  for (let round = 0; round < 300; round++) {
    const { record, privateKey } = newSigningKey('token', 0, 0);
    const { x = '', y = '', ...rest } = publishedKeys([record], 0, life)[0] ?? {};
    t.deepEqual([Buffer.from(x, 'base64url').length, Buffer.from(y, 'base64url').length], [32, 32]);
    t.deepEqual(rest as object, {
      kty: 'EC',
      crv: 'P-256',
      kid: record.kid,
      alg: 'ES256',
      use: 'sig',
      purpose: 'token',
    });
    t.is(record.kid, await calculateJwkThumbprint({ ...record.publicJwk }));
    t.is(privateKey.type, 'private');
  }
});

test('the name of a new key is none that a command line takes for an option', (t) => {
  const names = Array.from({ length: 500 }, () => newSigningKey('token', 1, 2).record.kid);
  t.deepEqual(
    names.filter((name) => name.startsWith('-')),
    [],
  );
});
