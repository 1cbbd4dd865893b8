import { parseDomainName, parsePrincipalName, parseRoleName, parseServiceName } from '@signet/policy-engine/names';
import { isKnownIdentity, requireKnownIdentity } from '@signet/server/access/known-identity';
import { UnauthenticatedError } from '@signet/server/errors';
import { type ClientCertificate, checkClientCertificate, type Principal } from '@signet/server/principals/principal';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import test from 'ava';
import { domainContent, snapshotOf, stored } from '#support/domains';

const snapshot = snapshotOf({
  media: { services: ['player', { name: 'gone', enabled: false }] },
  dark: { enabled: false, services: ['player'] },
});
const [begins, ends] = [1_000_000, 2_000_000];

/** Validity of a certificate of this name at this time; else the message. */
function outcome(name: string, now = begins, revoked: readonly string[] = []): string {
  const certificate = {
    principal: { kind: 'identity', name: parsePrincipalName(name) },
    notBefore: begins,
    notAfter: ends,
    serial: '0a',
  } as unknown as ClientCertificate;
  try {
    const principal = checkClientCertificate(certificate, snapshot, (serial) => revoked.includes(serial), now);
    return principal.kind === 'identity' ? principal.name : 'a role';
  } catch (error) {
    if (error instanceof UnauthenticatedError) return error.message;
    throw error;
  }
}

const early = 'client certificate is not valid now: it is not valid yet, check the clocks';
const late = 'client certificate is not valid now: it has expired, renew it';
const unknown = 'client certificate names no enabled service: its domain must have the service, enabled';
const cases: [note: string, outcome: () => string, expected: string][] = [
  ['at its first instant', () => outcome('media.player', begins), 'media.player'],
  ['before it', () => outcome('media.player', begins - 1), early],
  ['at its last instant', () => outcome('media.player', ends), 'media.player'],
  ['after it', () => outcome('media.player', ends + 1), late],
  ['revoked', () => outcome('media.player', begins, ['0a']), 'client certificate was revoked'],
  ['while another is revoked', () => outcome('media.player', begins, ['0b']), 'media.player'],
  ['of a disabled service', () => outcome('media.gone'), unknown],
  ['of a service that is not there', () => outcome('media.nobody'), unknown],
  ['of a service of a disabled domain', () => outcome('dark.player'), unknown],
  ['of a service of a domain that is not there', () => outcome('nowhere.player'), unknown],
  ['of a user', () => outcome('user.joe'), 'user.joe'],
  ['of a service that begins like a user', () => outcome('user.joe.laptop'), unknown],
  ['of a service in a domain that begins like the users', () => outcome('users.joe'), unknown],
];
for (const [note, found, expected] of cases) test(`a client certificate ${note}`, (t) => t.is(found(), expected));

test('what a certificate was told before counts for no other snapshot, and not against its revocation', (t) => {
  const certificate = {
    principal: { kind: 'identity', name: parsePrincipalName('media.player') },
    notBefore: begins,
    notAfter: ends,
    serial: '0a',
  } as unknown as ClientCertificate;
  const isKnown = (at: typeof snapshot, revoked = false, now = begins) => {
    try {
      return checkClientCertificate(certificate, at, () => revoked, now) === certificate.principal;
    } catch (error) {
      if (error instanceof UnauthenticatedError) return false;
      throw error;
    }
  };
  const without = snapshotOf({ media: { services: [{ name: 'player', enabled: false }] } });
  t.deepEqual([isKnown(snapshot), isKnown(snapshot)], [true, true]);
  t.deepEqual([isKnown(without), isKnown(without), isKnown(snapshot)], [false, false, true]);
  t.deepEqual([isKnown(snapshot, true), isKnown(snapshot, false, ends + 1)], [false, false]);
});

test('a user is nobody where a domain of the users is disabled', (t) => {
  const name = parsePrincipalName('user.joe');
  t.false(isKnownIdentity(name, snapshotOf({ user: { enabled: false } })));
  t.true(isKnownIdentity(name, snapshotOf({})));
});

/* A name that came back at an instant in the middle of a second: what was issued before it is the predecessor's. */
const back = 1_767_312_000_500;
const successor = compileSnapshot(undefined, {
  state: { epoch: 1, counter: 1, head: '' },
  domains: [
    {
      ...stored(domainContent('media', { services: ['player', 'old'], roles: { reader: [] } })),
      credentialsFrom: back,
      servicesFrom: new Map([[parseServiceName('player'), back]]),
    },
  ],
  deleted: [],
  signingKeys: [],
}).snapshot;
const role = {
  kind: 'role',
  name: 'media:role.reader',
  domain: parseDomainName('media'),
  role: parseRoleName('reader'),
} as const;

/** Validity of a certificate that was issued at this time; else the message. */
function outcomeOf(principal: Pick<Principal, 'kind' | 'name'>, issuedAt: number): string {
  const certificate = { principal, notBefore: 0, notAfter: 2 * back, serial: '0a', issuedAt };
  try {
    return checkClientCertificate(certificate as unknown as ClientCertificate, successor, () => false, back).name;
  } catch (error) {
    if (error instanceof UnauthenticatedError) return error.message;
    throw error;
  }
}

const service = (name: string) => ({ kind: 'identity', name: parsePrincipalName(name) }) as const;
const deleted = 'client certificate is of a deleted service or domain of the same name';
const comebacks: [note: string, principal: Pick<Principal, 'kind' | 'name'>, issuedAt: number, expected: string][] = [
  ['of a service, issued in the second of its return', service('media.player'), back - 500, 'media.player'],
  ['of a service, issued the second before', service('media.player'), back - 1500, deleted],
  ['of a service of this name alone', service('media.old'), back - 1500, 'media.old'],
  ['of a user, who is not kept here', service('user.joe'), 0, 'user.joe'],
  ['of a role, issued in the second of its return', role, back - 500, role.name],
  ['of a role, issued the second before', role, back - 1500, deleted],
];
for (const [note, principal, issuedAt, expected] of comebacks) {
  test(`a client certificate of a name that came back: ${note}`, (t) => t.is(outcomeOf(principal, issuedAt), expected));
}

test('who asks again is known, and no newcomer of the name', (t) => {
  const again = (name: string, issuedAt?: number) => () =>
    requireKnownIdentity(parsePrincipalName(name), successor, issuedAt);
  t.notThrows(again('media.player'));
  t.notThrows(again('media.player', back - 500));
  t.notThrows(again('media.old', 0));
  t.throws(again('media.player', back - 1500), { instanceOf: UnauthenticatedError, message: deleted });
  for (const issuedAt of [undefined, back]) {
    t.throws(again('media.nobody', issuedAt), { instanceOf: UnauthenticatedError, message: unknown });
  }
});
