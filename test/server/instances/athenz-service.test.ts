import { X509Certificate } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { sequence, set, utf8String } from '@signet/policy-engine/internal/der';
import { oids } from '@signet/server/x509/oids';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { field, instanceDomains, instanceWorld, json } from '#support/instance-world';
import { createPki } from '#support/pki';
import { principalToken } from '#support/principal-token';
import { ecPair, type Pair, type RequestedName, requestPem } from '#support/requests';
import { caller, wholeFile } from '#support/start-server';

/* Certificates of services and roles as unmodified clients of the profile `athenz` ask for them. */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const [first, second] = [ecPair(), ecPair()];
const pemOf = ({ publicKey }: Pair) => publicKey.export({ type: 'spki', format: 'pem' }).toString();
const media = {
  name: 'media',
  services: { player: { 0: pemOf(first), 1: pemOf(second) }, admin: {}, studio: { 0: pemOf(first) } },
  roles: { launchers: ['sys.auth.server'], admins: ['media.admin'] },
  policies: {
    instances: [
      ['ALLOW', 'launchers', 'launch', 'service.player'],
      ['ALLOW', 'admins', 'update', 'service.player'],
    ],
  },
} as const;
const domains = instanceDomains.map((domain) => (domain.name === 'media' ? media : domain));
// By the same clock: no certificate begins before that of its issuer.
const pki = await createPki(clock);
const world = await instanceWorld(file, { clock, domains, pki, options: { profile: 'athenz' } });
const balanced = await instanceWorld(file, {
  clock,
  domains,
  pki,
  options: { profile: 'athenz', 'instances.reservedAddresses': ['127.0.0.1'] },
});
test.after.always(() => file.end());

/** The subject of the Go tools. */
const more = (unit: string) => [
  set(sequence(oids.country.der, utf8String('US'))),
  set(sequence(oids.organization.der, utf8String('Oath Inc.'))),
  set(sequence(oids.organizationalUnit.der, utf8String(unit))),
];
const serviceNames: RequestedName[] = [
  ['dns', 'player.media.athenz.cloud'],
  ['uri', 'spiffe://media/sa/player'],
];

function serviceRequest(pair: Pair, altNames = serviceNames): string {
  return requestPem(pair, { commonNames: ['media.player'], moreSubject: more('Athenz'), altNames });
}

function tokenBy(pair: Pair, fields: Readonly<Record<string, string>> = {}): string {
  return principalToken({ now: clock.now(), key: pair.privateKey, fields });
}

const path = '/instance/media/player/refresh';

/** A refresh with nothing but a principal token. */
function refreshWith(token: string, csr: string, body: Readonly<Record<string, unknown>> = {}) {
  const asked = json({ csr, expiryTime: 90, keyId: '0', ...body });
  return world.as()(path, { ...asked, headers: { ...asked.headers, 'athenz-principal-auth': token } });
}

test('a service gets its certificate with a principal token and the same registered key', async (t) => {
  const answer = await refreshWith(tokenBy(first), serviceRequest(first));
  t.is(answer.status, 200, answer.text);
  t.is(field(answer.body, 'name'), 'media.player');
  const leaf = new X509Certificate(String(field(answer.body, 'certificate')));
  t.true(leaf.checkPrivateKey(first.privateKey));
  t.is(leaf.subjectAltName, 'DNS:player.media.athenz.cloud, URI:spiffe://media/sa/player');
  t.is(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), (90 * 60 + 3600) * 1000);
});

test('the key is the one of the token, whatever the body says', async (t) => {
  const other = await refreshWith(tokenBy(second, { k: '1' }), serviceRequest(second), { keyId: '0' });
  t.is(other.status, 200, other.text);
  for (const [token, csr] of [
    [tokenBy(first), serviceRequest(second)],
    [tokenBy(first), serviceRequest(ecPair())],
    [tokenBy(second, { k: '1' }), serviceRequest(first)],
  ] as const) {
    const answer = await refreshWith(token, csr, { keyId: '1' });
    t.deepEqual([answer.status, field(answer.body, 'message')].slice(0, 1), [400], answer.text);
  }
});

test('a token refreshes its own service only, also beside the certificate of another', async (t) => {
  // The same key is registered for both.
  const studio = tokenBy(first, { n: 'studio' });
  t.is((await refreshWith(studio, serviceRequest(first))).status, 403);
  const asked = json({ csr: serviceRequest(first), keyId: '0' });
  const headers = { ...asked.headers, 'athenz-principal-auth': studio };
  const admin = await world.identity('media.admin');
  t.is((await admin(path, { ...asked, headers })).status, 403);
  t.is((await admin(path, asked)).status, 403);
});

test('names of others, and addresses without a right, are not given for a token either', async (t) => {
  for (const name of [
    ['dns', 'studio.media.athenz.cloud'],
    ['dns', 'x.player.media.athenz.cloud'],
    ['dns', 'athenz.cloud'],
    ['dns', 'player.media.other.cloud'],
    ['ip', Buffer.of(127, 0, 0, 1)],
    ['uri', 'athenz://instanceid/zts/i-1'],
  ] as const) {
    const answer = await refreshWith(tokenBy(first), serviceRequest(first, [...serviceNames, [...name]]));
    t.is(answer.status, 400, `${name[1]}: ${answer.text}`);
  }
});

test('a service with a certificate gets its names below the suffixes of the profile', async (t) => {
  const pair = ecPair();
  const identity = await world.pki.identity('media.player');
  const asked = json({ csr: serviceRequest(first), keyId: '0' });
  const answer = await world.as(identity)(path, asked);
  t.is(answer.status, 200, answer.text);
  const byItself = await caller(t, world, identity)(path, json({ csr: serviceRequest(pair), keyId: '0' }));
  t.is(byItself.status, 400);
});

/** The request of `zts-rolecert` for `media.player`. */
const roleRequest = (altNames: readonly RequestedName[]) =>
  requestPem(ecPair(), { commonNames: ['catalog:role.reader'], moreSubject: more('Athenz'), altNames });
const roleNames: readonly RequestedName[] = [
  ['dns', 'player.media.athenz.cloud'],
  ['email', 'media.player@athenz.cloud'],
  ['uri', 'spiffe://catalog/ra/reader'],
  ['uri', 'athenz://principal/media.player'],
];

test('a role certificate with the names of the Go tools, and the address that the request comes from', async (t) => {
  const player = await world.identity('media.player');
  const csr = roleRequest([...roleNames, ['ip', Buffer.of(127, 0, 0, 1)]]);
  for (const [to, member] of [
    ['/rolecert', 'x509Certificate'],
    ['/domain/catalog/role/reader/token', 'token'],
  ] as const) {
    const answer = await player(to, json({ csr, expiryTime: 60 }));
    t.is(answer.status, 200, answer.text);
    const leaf = new X509Certificate(String(field(answer.body, member)));
    t.is(
      leaf.subjectAltName,
      'DNS:player.media.athenz.cloud, email:media.player@athenz.cloud, URI:spiffe://catalog/ra/reader, ' +
        'URI:athenz://principal/media.player, IP Address:127.0.0.1',
    );
    t.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.2'], 'for clients only');
  }
});

test('another address, and one behind which there are many, is in no role certificate', async (t) => {
  const player = await world.identity('media.player');
  const other = await player('/rolecert', json({ csr: roleRequest([...roleNames, ['ip', Buffer.of(127, 0, 0, 2)]]) }));
  t.deepEqual(other.body, { code: 400, message: 'csr ip name `127.0.0.2` is not for role certificates' });
  const behind = await balanced.identity('media.player');
  const shared = await behind('/rolecert', json({ csr: roleRequest([...roleNames, ['ip', Buffer.of(127, 0, 0, 1)]]) }));
  t.deepEqual(shared.body, { code: 400, message: 'csr ip name `127.0.0.1` is not for role certificates' });
});

test('a join token with white space around it registers, as the Go tools redirect it to a file', async (t) => {
  const register = async (attestationData: string, id: string) =>
    world.as()(
      '/instance',
      json({
        provider: 'sys.auth.server',
        domain: 'media',
        service: 'player',
        attestationData,
        csr: serviceRequest(ecPair(), [
          ['dns', 'player.media.prov.example.com'],
          ['uri', 'spiffe://media/sa/player'],
          ['uri', `athenz://instanceid/sys.auth.server/${id}`],
        ]),
      }),
    );
  const ended = await register(`${await world.token('w-1')}\n`, 'w-1');
  t.is(ended.status, 201, ended.text);
  const inside = await world.token('w-2');
  t.is((await register(`${inside.slice(0, 20)} ${inside.slice(20)}`, 'w-2')).status, 403);
  t.is((await register(` \t${inside}\r\n`, 'w-2')).status, 201);
});
