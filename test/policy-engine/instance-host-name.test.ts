import { hash } from 'node:crypto';
import {
  formerInstanceHostName,
  type InstanceNameParts,
  instanceHostName,
  maxSuffixLength,
} from '@signet/policy-engine/names';
import test from 'ava';
import fc from 'fast-check';

const sha256 = (text: string) => hash('sha256', text, 'buffer');
const nameOf = (parts: InstanceNameParts, suffix = 'signet.local') => instanceHostName(parts, suffix, sha256);
const plain = { provider: 'sys.auth.server', domain: 'media', service: 'player', instanceId: 'i-1' };

// printf 'a:b' | openssl dgst -sha256 -binary | base32 | tr A-Z a-z | tr -d =
const hashed = 'sha256-m6b2ghvl62gmybta7e24batcqk65eja7hkakt4wrbvm25kplwxma';

const cases: readonly (readonly [change: Partial<InstanceNameParts>, expected: string])[] = [
  [{}, 'i-1.player.media.sys-auth-server.instanceid.signet.local'],
  [{ domain: 'pay.core' }, 'i-1.player.pay-core.sys-auth-server.instanceid.signet.local'],
  [{ domain: 'pay-core' }, 'i-1.player.pay--core.sys-auth-server.instanceid.signet.local'],
  [{ provider: 'sys-auth.server' }, 'i-1.player.media.sys--auth-server.instanceid.signet.local'],
  [{ instanceId: 'a:b' }, `${hashed}.player.media.sys-auth-server.instanceid.signet.local`],
];
for (const [change, expected] of cases) {
  test(`${JSON.stringify(change)} is ${expected}`, (t) => t.is(nameOf({ ...plain, ...change }), expected));
}

test('what is not a label in lower case, or looks like a hash or an internationalized name, is hashed', (t) => {
  const ids = ['I', 'a.b', '-a', 'a-', 'a_b', '_', '~', 'xn--a', hashed, 'a'.repeat(64)];
  for (const instanceId of ids) t.regex(nameOf({ ...plain, instanceId }), /^sha256-[a-z2-7]{52}\.player\./, instanceId);
  t.true(nameOf({ ...plain, instanceId: 'a'.repeat(63) }).startsWith('a'.repeat(63)), 'the longest label');
  t.regex(nameOf({ ...plain, domain: 'xn.a' }), /\.player\.xn-a\./);
  t.regex(nameOf({ ...plain, domain: 'xn-a' }), /\.player\.sha256-[a-z2-7]{52}\./);
});

test('the name of before had underscores; others are the same', (t) => {
  const former = (change: Partial<InstanceNameParts>) =>
    formerInstanceHostName({ ...plain, ...change }, 'signet.local', sha256);
  t.is(former({ service: 'my_api' }), 'i-1.my_api.media.sys-auth-server.instanceid.signet.local');
  t.regex(nameOf({ ...plain, service: 'my_api' }), /^i-1\.sha256-[a-z2-7]{52}\.media\./);
  for (const change of [{}, { instanceId: 'a:b' }, { domain: 'pay-core' }]) {
    t.is(former(change), nameOf({ ...plain, ...change }));
  }
});

test('an id that is the hash of another has a hash of its own', (t) => {
  t.not(nameOf({ ...plain, instanceId: hashed }), nameOf({ ...plain, instanceId: 'a:b' }));
  for (const instanceId of [hashed, 'sha256-', 'sha256-a', 'xn--a', 'I']) {
    t.false(nameOf({ ...plain, instanceId }).startsWith(`${instanceId.toLowerCase()}.`), instanceId);
  }
  for (const instanceId of ['sha256', 'sha2-56', 'xsha256-a', 'xn-a', 'x-n--a']) {
    t.true(nameOf({ ...plain, instanceId }).startsWith(`${instanceId}.`), instanceId);
  }
});

test('a whole that is too long is one hash, whatever its suffix', (t) => {
  const long = { ...plain, instanceId: 'i'.repeat(63), service: 's'.repeat(63), domain: 'd'.repeat(63) };
  const suffix = 'x'.repeat(253 - nameOf(long, '').length);
  t.is(nameOf(long, suffix).length, 253);
  t.regex(nameOf(long, `${suffix}x`), /^sha256-[a-z2-7]{52}\.hashed\.instanceid\./);
  t.true(nameOf({ ...long, provider: 'p'.repeat(256) }, 'x'.repeat(maxSuffixLength)).length <= 253);
});

const segment = fc.string({ unit: fc.constantFrom('a', 'b', '-', '_', '1'), minLength: 1, maxLength: 4 });
const simple = segment.map((text) => text.replace(/^-/, 'x'));
const compound = fc.array(simple, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const instance = fc.record({
  provider: compound.map((name) => `${name}.p`),
  domain: compound,
  service: simple,
  instanceId: fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'A', 'b', '-', '.', ':', '~'), minLength: 1, maxLength: 4 }),
    fc.constantFrom(hashed, 'a:b', 'xn--a'),
  ),
});

test('no two instances have one name, and every name is a host name', (t) => {
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(instance, (parts) => {
      const name = nameOf(parts);
      const key = JSON.stringify([parts.provider, parts.domain, parts.service, parts.instanceId]);
      const isHost = name.length <= 253 && /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+local$/.test(name);
      const isOnly = (seen.get(name) ?? key) === key;
      seen.set(name, key);
      return isHost && isOnly;
    }),
    { numRuns: 20_000 },
  );
  t.true(seen.size > 1000);
});
