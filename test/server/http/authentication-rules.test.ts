import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { MissingCredentialsError, ServiceUnavailableError, UnauthenticatedError } from '@signet/server/errors';
import { type AuthenticationDeps, authentication } from '@signet/server/http/authentication';
import type { PrincipalTokenUse } from '@signet/server/http/principal-token-use';
import { profiles } from '@signet/server/profile';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { domainContent } from '#support/domain-sketch';
import { stored } from '#support/domains';
import { principalToken } from '#support/principal-token';

/* Each rule of who calls, with sockets that say what TLS has found: over TLS one of them stands in for another. */

const now = 1_767_225_600_000;
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
const { snapshot } = compileSnapshot(undefined, {
  state: { epoch: 1, counter: 1, head: '' },
  domains: [stored(domainContent({ name: 'media', services: { player: { 0: pem }, web: {} } }))],
  deleted: [],
  signingKeys: [],
});
const usages = ['1.3.6.1.5.5.7.3.2'];
const named = async (name: string) => (await makeCertificate({ name, usages, now })).certificate;
const player = await named('media.player');
const web = await named('media.web');
const role = await named('media:role.reader');
const nameless = await named('nobody');
const token = (seconds = 0) => principalToken({ now: now + seconds * 1000, key: pair.privateKey });

interface Connection {
  readonly certificate?: X509Certificate;
  readonly authorized?: boolean;
  readonly plain?: boolean;
}

function socketOf({ certificate, authorized = true, plain = false }: Connection): object {
  const socket: object = Object.create(plain ? Object.prototype : TLSSocket.prototype);
  return Object.assign(socket, {
    getPeerX509Certificate: () => certificate,
    authorized,
    authorizationError: 'a fault',
  });
}

interface Ask extends Connection {
  readonly profile?: 'signet' | 'athenz';
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly use?: PrincipalTokenUse;
  readonly isOpen?: boolean;
  readonly isOptional?: boolean;
  readonly isProbe?: boolean;
  readonly revoked?: readonly string[];
  readonly deps?: Partial<AuthenticationDeps>;
}

function guardOf({
  profile = 'signet',
  use = 'names-caller',
  isOpen,
  isOptional,
  isProbe = false,
  revoked = [],
  deps,
}: Ask) {
  return authentication({
    profile: profiles[profile],
    snapshot: () => snapshot,
    clock: { now: () => now },
    isOpen: (path) => isOpen === true && path === '/path',
    isProbe: () => isProbe,
    isPublishable: () => false,
    isOptional: (method, path) => isOptional === true && method === 'GET' && path === '/path',
    isRevoked: (serial) => revoked.includes(serial),
    trust: { generation: 0, handshakeOf: () => 0, trusts: () => true, isWithdrawn: () => false },
    principalTokenUse: () => use,
    ...deps,
  });
}

/** Caller, certificate state, and result; or the reason of a refusal. */
function outcomeOf(guard: ReturnType<typeof authentication>, socket: object, headers: Ask['headers'] = {}): string {
  const state: { path: string; principal?: { kind: string; name: string; thumbprint?: string }; certificate?: object } =
    {
      path: '/path',
    };
  let went = 'stopped';
  try {
    const ctx = { req: { socket, headers, method: 'GET' }, method: 'GET', state, set: () => undefined };
    guard(ctx as never);
    went = 'goes on';
  } catch (error) {
    if (error instanceof MissingCredentialsError) return 'no certificate';
    if (error instanceof UnauthenticatedError) return error.message;
    throw error;
  }
  const { principal, certificate } = state;
  if (principal === undefined) return `nobody ${went}`;
  const bound = principal.thumbprint === undefined ? '' : ' bound';
  return `${principal.kind} ${principal.name}${bound}${certificate === undefined ? '' : ' by certificate'} ${went}`;
}

const svc = 'svc-principal-auth';
const older = 'athenz-principal-auth';
const byCertificate = 'identity media.player bound by certificate goes on';
const mustName = 'the client certificate must name the principal of the principal token here';
const mustBeNew = 'the principal token must be issued within the last 300 seconds here';
const notValid = 'principal token is not valid';
const untrusted = 'client certificate is not valid';
const [t0, t1] = [token(), token(-1)];
const cases: readonly (readonly [note: string, ask: Ask, outcome: string])[] = [
  ['a certificate', { certificate: player }, byCertificate],
  ['a role certificate', { certificate: role }, 'role media:role.reader bound by certificate goes on'],
  ['none', {}, 'no certificate'],
  ['a connection without TLS', { certificate: player, plain: true }, 'no certificate'],
  ['one that TLS did not accept', { certificate: player, authorized: false }, untrusted],
  ['one that names nobody', { certificate: nameless }, 'client certificate names no principal'],
  [
    'one that was revoked',
    { certificate: player, revoked: [player.serialNumber.toLowerCase()] },
    'client certificate was revoked',
  ],
  ['another was revoked', { certificate: player, revoked: [web.serialNumber.toLowerCase()] }, byCertificate],
  // Paths that need none.
  [
    'an open path, with a certificate that is not valid',
    { certificate: player, authorized: false, isOpen: true },
    'nobody goes on',
  ],
  ['an open path that tells no more', { certificate: player, isOpen: true }, 'nobody goes on'],
  ['one that tells some more', { certificate: player, isOpen: true, isProbe: true }, byCertificate],
  ['one that tells some more, without a certificate', { isOpen: true, isProbe: true }, 'nobody goes on'],
  [
    'one that tells some more, with a certificate that is not valid',
    { certificate: player, authorized: false, isOpen: true, isProbe: true },
    'nobody goes on',
  ],
  ['an optional path without one', { isOptional: true }, 'nobody goes on'],
  ['an optional path with one', { certificate: player, isOptional: true }, byCertificate],
  [
    'an optional path with one that is not valid',
    { certificate: player, authorized: false, isOptional: true },
    untrusted,
  ],
  ['an optional path without TLS', { certificate: player, plain: true, isOptional: true }, 'nobody goes on'],
  // Principal tokens.
  ['a token of the same principal', { certificate: player, headers: { [svc]: t0 }, use: 'confirms' }, byCertificate],
  ['a token of another, where it confirms', { certificate: web, headers: { [svc]: t0 }, use: 'confirms' }, mustName],
  [
    'a token of another, where it names the caller',
    { certificate: web, headers: { [svc]: t0 } },
    'identity media.player by certificate goes on',
  ],
  ['a token beside a role certificate', { certificate: role, headers: { [svc]: t0 }, use: 'confirms' }, mustName],
  ['a token that is none', { certificate: player, headers: { [svc]: 'x' } }, notValid],
  ['a token that is none, in the header of Athenz', { certificate: player, headers: { [older]: 'x' } }, notValid],
  ['a token alone', { headers: { [svc]: t0 } }, 'no certificate'],
  [
    'a token beside a certificate that is not valid',
    { certificate: player, authorized: false, headers: { [svc]: t0 } },
    untrusted,
  ],
  [
    'an old token, where it names the caller',
    { certificate: web, headers: { [svc]: token(-301) } },
    'identity media.player by certificate goes on',
  ],
  [
    'the oldest token that counts for a while',
    { certificate: web, headers: { [svc]: token(-300) }, use: 'names-caller-recently' },
    'identity media.player by certificate goes on',
  ],
  [
    'one a second older',
    { certificate: web, headers: { [svc]: token(-301) }, use: 'names-caller-recently' },
    mustBeNew,
  ],
  [
    'one a second older, of the same principal',
    { certificate: player, headers: { [svc]: token(-301) }, use: 'names-caller-recently' },
    byCertificate,
  ],
  [
    'the header of Athenz, of another principal',
    { certificate: web, headers: { [older]: t0 } },
    'identity media.player by certificate goes on',
  ],
  ['both headers, and they differ', { certificate: player, headers: { [older]: t0, [svc]: t1 } }, notValid],
  ['a token sent twice', { certificate: player, headers: { [svc]: [t0, t0] } }, notValid],
  // The profile athenz.
  ['athenz: a token alone', { profile: 'athenz', headers: { [svc]: t0 } }, 'identity media.player goes on'],
  [
    'athenz: a token alone, in the older header',
    { profile: 'athenz', headers: { [older]: t0 } },
    'identity media.player goes on',
  ],
  [
    'athenz: both headers alike',
    { profile: 'athenz', headers: { [older]: t0, [svc]: t0 } },
    'identity media.player goes on',
  ],
  ['athenz: both headers, and they differ', { profile: 'athenz', headers: { [older]: t0, [svc]: t1 } }, notValid],
  [
    'athenz: a token alone, where it confirms',
    { profile: 'athenz', headers: { [svc]: t0 }, use: 'confirms' },
    'no certificate',
  ],
  [
    'athenz: a token beside a certificate that is not valid',
    { profile: 'athenz', certificate: player, authorized: false, headers: { [svc]: t0 } },
    untrusted,
  ],
  [
    'athenz: a token beside another certificate',
    { profile: 'athenz', certificate: web, headers: { [svc]: t0 } },
    'identity media.player by certificate goes on',
  ],
  ['athenz: nothing at all', { profile: 'athenz' }, 'no certificate'],
];
for (const [note, ask, expected] of cases) {
  test(`who calls: ${note}`, (t) => t.is(outcomeOf(guardOf(ask), socketOf(ask), ask.headers), expected));
}

test('a connection of before an authority was removed counts while its certificate chains to another', (t) => {
  let generation = 1;
  let trusted = true;
  let isWithdrawn = true;
  let asked = 0;
  const trust = {
    get generation() {
      return generation;
    },
    handshakeOf: (socket: object) => (socket === early ? 0 : 1),
    trusts: (certificate: X509Certificate) => {
      asked += 1;
      return trusted && certificate === player;
    },
    isWithdrawn: () => isWithdrawn,
  };
  const guard = guardOf({ deps: { trust } });
  const [early, late] = [socketOf({ certificate: player }), socketOf({ certificate: player })];
  t.is(outcomeOf(guard, late), byCertificate);
  t.is(asked, 0, 'its handshake was of this generation');
  t.is(outcomeOf(guard, early), byCertificate);
  t.is(outcomeOf(guard, early), byCertificate);
  t.is(asked, 1, 'asked once for a generation');
  generation = 2;
  t.is(outcomeOf(guard, late), byCertificate);
  t.is(asked, 2);
  trusted = false;
  generation = 3;
  for (const socket of [early, late, early]) t.is(outcomeOf(guard, socket), untrusted);
  t.is(asked, 4, 'a refusal is kept as long as the authorities are the same');
  isWithdrawn = false;
  generation = 4;
  const unknown = {
    instanceOf: ServiceUnavailableError,
    message: 'a client authority was removed: connect again',
  };
  t.throws(() => outcomeOf(guard, early), unknown, 'its chain may be good');
  const probe = guardOf({ isOpen: true, isProbe: true, deps: { trust } });
  t.is(outcomeOf(probe, socketOf({ certificate: player })), 'nobody goes on', 'a probe is answered');
});

test('what a certificate says is read once a connection', (t) => {
  let read = 0;
  const socket = Object.assign(socketOf({ certificate: player }), {
    getPeerX509Certificate: () => {
      read += 1;
      return player;
    },
  });
  const guard = guardOf({});
  t.is(outcomeOf(guard, socket), byCertificate);
  t.is(outcomeOf(guard, socket), byCertificate);
  t.is(read, 1);
});

test('what an authenticated caller says of the time is noted, once for its name, and nothing of anyone else', (t) => {
  const noted: unknown[] = [];
  const deps = { callerClocks: { note: (...said: readonly unknown[]) => void noted.push(said) } };
  const headers = { date: 'Thu, 01 Jan 2026 00:00:00 GMT' };
  for (const ask of [
    { certificate: player },
    { certificate: player, authorized: false },
    { certificate: role },
    {},
    { isOpen: true },
  ]) {
    outcomeOf(guardOf({ ...ask, deps }), socketOf(ask), headers);
  }
  outcomeOf(guardOf({ deps }), socketOf({ certificate: player }));
  t.deepEqual(noted, [['media.player', headers.date]]);
});
