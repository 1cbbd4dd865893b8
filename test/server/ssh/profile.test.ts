import { parsePathElement, parsePrincipalName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '@signet/server/errors';
import {
  hostKeyId,
  hostProfile,
  maxHostLifetimeSeconds,
  maxUserLifetimeSeconds,
  type SshRules,
  type SshSubject,
  userProfile,
} from '@signet/server/ssh/ssh-profile';
import test from 'ava';

const now = 1_767_225_600;
const rules: SshRules = { hostExpirySeconds: 3600, userExpirySeconds: 600, extensions: [], sourceAddresses: [] };
const subject: SshSubject = { keyId: 'user:a.b', principals: ['deploy'], serial: 1n, notAfter: now + 1e9 };

test('options are those that are configured, in the order of their names', (t) => {
  const optionsOf = (more: Partial<SshRules>) => userProfile(subject, { ...rules, ...more }, now).criticalOptions;
  const [forceCommand, sourceAddresses] = ['/bin/true', ['10.0.0.0/8', '::1/128']];
  const [command, addresses] = [
    ['force-command', '/bin/true'],
    ['source-address', '10.0.0.0/8,::1/128'],
  ] as const;
  t.deepEqual(optionsOf({}), []);
  t.deepEqual(optionsOf({ forceCommand }), [command]);
  t.deepEqual(optionsOf({ sourceAddresses }), [addresses]);
  t.deepEqual(optionsOf({ forceCommand, sourceAddresses }), [command, addresses]);
  t.deepEqual(hostProfile(subject, { ...rules, forceCommand, sourceAddresses }, now).criticalOptions, []);
});

test('extensions stand once each, in the order of their bytes', (t) => {
  const extensions = ['permit-pty', 'permit-X11-forwarding', 'permit-agent-forwarding', 'permit-pty'] as const;
  t.deepEqual(userProfile(subject, { ...rules, extensions }, now).extensions, [
    'permit-X11-forwarding',
    'permit-agent-forwarding',
    'permit-pty',
  ]);
});

const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}`);
const principals: readonly (readonly [note: string, principals: readonly string[], outcome: number | string])[] = [
  ['none', [], 'principals must not be empty'],
  ['an empty one', [''], 'principals must not be empty'],
  ['an empty one after another', ['deploy', ''], 'principals must not be empty'],
  ['an empty one before another', ['', 'deploy'], 'principals must not be empty'],
  ['one twice', ['deploy', 'deploy'], 1],
  ['64', many(64), 64],
  ['64, one of them twice', [...many(64), 'p0'], 64],
  ['65', many(65), 'principals must be 64 at most'],
];
for (const [note, given, outcome] of principals) {
  test(`principals: ${note}`, (t) => {
    for (const make of [userProfile, hostProfile]) {
      const act = () => make({ ...subject, principals: given }, rules, now).principals.length;
      if (typeof outcome === 'number') t.is(act(), outcome);
      else t.throws(act, { instanceOf: InvalidRequestError, message: outcome });
    }
  });
}

test('a serial number has 64 bits and is not 0, a key id is not empty', (t) => {
  const act = (more: Partial<SshSubject>) => () => userProfile({ ...subject, ...more }, rules, now).serial;
  for (const serial of [1n, (1n << 64n) - 1n]) t.is(act({ serial })(), serial);
  for (const serial of [-1n, 0n, 1n << 64n, (1n << 64n) + 1n]) {
    t.throws(act({ serial }), { instanceOf: RangeError, message: 'a serial number has 64 bits and is not 0' });
  }
  t.throws(act({ keyId: '' }), { instanceOf: RangeError, message: 'a key id is not empty' });
});

test('a life is lowered by each bound, and is a second at the least', (t) => {
  const life = (more: Partial<SshSubject>, make = userProfile, given = rules) => {
    const { validAfter, validBefore } = make({ ...subject, ...more }, given, now);
    t.is(validAfter, now - 300);
    return validBefore - now;
  };
  t.deepEqual([life({}), life({}, hostProfile)], [600, 3600]);
  t.deepEqual([life({ maxSeconds: 599 }), life({ maxSeconds: 601 })], [599, 600]);
  t.deepEqual(
    [life({ notAfter: now + 599 }), life({ notAfter: now + 601 }), life({ notAfter: now + 1 })],
    [599, 600, 1],
  );
  const long = { ...rules, userExpirySeconds: 1e9, hostExpirySeconds: 1e9 };
  t.deepEqual(
    [life({}, userProfile, long), life({}, hostProfile, long)],
    [maxUserLifetimeSeconds, maxHostLifetimeSeconds],
  );
  for (const more of [{ notAfter: now }, { notAfter: now - 5 }, { maxSeconds: 0.9 }, { maxSeconds: Number.NaN }]) {
    const expected = { instanceOf: InvalidRequestError, message: 'the lifetime must be a second or more' };
    t.throws(() => life(more), expected);
    t.throws(() => life(more, hostProfile), expected);
  }
});

test('the key id of a host names its instance where there is one', (t) => {
  const service = parsePrincipalName('media.player');
  t.is(hostKeyId(service, undefined), 'host:media.player');
  t.is(hostKeyId(service, parsePathElement('i-1')), 'host:media.player:i-1');
});
