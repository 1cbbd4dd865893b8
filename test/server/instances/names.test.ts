import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test from 'ava';
import type { DomainSketch } from '#support/domain-sketch';
import { field, instanceWorld, json, keyPem, type Registered } from '#support/instance-world';
import { ecPair, type RequestedName, requestPem } from '#support/requests';
import { wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

/* Attacks by names over real TLS: two tenants, and a provider that operators trust with whatever host names and addresses it states. */

const tenant = (name: string): DomainSketch => ({
  name,
  services: { player: {}, studio: {}, admin: {} },
  roles: { launchers: ['sys.auth.server'], admins: [`${name}.admin`] },
  policies: {
    instances: [
      ['ALLOW', 'launchers', 'launch', 'service.*'],
      ['ALLOW', 'admins', 'update', 'service.*'],
      ['ALLOW', 'admins', 'delete', 'instance.*'],
    ],
  },
});
const domains: readonly DomainSketch[] = [
  {
    name: 'sys.auth',
    services: { server: {}, operator: {} },
    roles: { providers: ['sys.auth.server'], admins: ['sys.auth.operator'] },
    policies: {
      providers: [
        ['ALLOW', 'providers', 'launch', '*'],
        ['ALLOW', 'admins', '*', '*'],
      ],
    },
  },
  tenant('pay.core'),
  tenant('shop'),
];

const file = wholeFile();
const authority = join(temporaryFolder(file), 'host.pem');
writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
const world = await instanceWorld(file, { domains, options: { 'ssh.hostAuthority': authority } });
const admins = {
  'pay.core': await world.identity('pay.core.admin'),
  shop: await world.identity('shop.admin'),
  'sys.auth': await world.identity('sys.auth.operator'),
};
test.after.always(() => file.end());

type Domain = keyof typeof admins;

async function attempt(
  domain: Domain,
  id: string,
  {
    names = [],
    more = {},
    service = 'player',
  }: { names?: readonly RequestedName[]; more?: object; service?: string } = {},
): Promise<Registered> {
  const pair = ecPair();
  const path = `/instance/sys.auth.server/${domain}/${service}/${encodeURIComponent(id)}`;
  const attestationData = String(field((await admins[domain](`${path}/token`)).body, 'attestationData'));
  const commonNames = [`${domain}.${service}`];
  const csr = requestPem(pair, { commonNames, ...(names.length > 0 && { altNames: names }) });
  const body = { provider: 'sys.auth.server', domain, service, attestationData, csr, x509CertInstanceId: id, ...more };
  const answer = await world.as()('/instance', json(body));
  return { id, key: keyPem(pair), certificate: String(field(answer.body, 'x509Certificate')), answer };
}

const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));
const hostRequest = (principal: string, requestor: string) => ({
  certRequestMeta: { requestor, certType: 'host' },
  certRequestData: { principals: [principal], publicKey },
});

function sshPrincipals(line: unknown): unknown {
  return readSshCertificate(Buffer.from(String(line).split(' ')[1] ?? '', 'base64')).principals;
}

const hashOf = {
  // printf ID | openssl dgst -sha256 -binary | base32 | tr A-Z a-z | tr -d =
  'a:b': 'sha256-m6b2ghvl62gmybta7e24batcqk65eja7hkakt4wrbvm25kplwxma',
};
const ids: readonly (readonly [id: string, label: string])[] = [
  ['i-0', 'i-0'],
  ['a:b', hashOf['a:b']],
  ['i-0~a=b', 'sha256-'],
  ['Ab', 'sha256-'],
  ['ab', 'ab'],
  ['+@$,', 'sha256-'],
  ['a.b', 'sha256-'],
  ['...', 'sha256-'],
  ['%2e'.replace('%', '='), 'sha256-'],
  ['x'.repeat(256), 'sha256-'],
];
for (const [id, label] of ids) {
  test(`an instance with the id ${id} registers, refreshes, gets an SSH certificate, is listed and deleted`, async (t) => {
    const first = await attempt('shop', id);
    t.is(first.answer.status, 201, first.answer.text);
    t.is(field(first.answer.body, 'instanceId'), id);
    const [spiffe, own = '', ...others] = new X509Certificate(first.certificate).subjectAltName?.split(', ') ?? [];
    t.deepEqual([spiffe, others], ['URI:spiffe://signet.test/ns/default/sa/shop.player', []]);
    t.true(own.startsWith(`DNS:${label}`), own);
    t.true(own.endsWith('.player.shop.sys-auth-server.instanceid.signet.test'), own);
    t.is(first.answer.headers['location'], `/v1/instance/sys.auth.server/shop/player/${encodeURIComponent(id)}`);

    const path = `/instance/sys.auth.server/shop/player/${encodeURIComponent(id)}`;
    const host = own.slice('DNS:'.length);
    const pair = ecPair();
    const holder = world.as(first);
    const ssh = JSON.stringify(hostRequest(host, 'shop.player'));
    const refreshed = await holder(path, json({ csr: requestPem(pair, { commonNames: ['shop.player'] }), ssh }));
    t.is(refreshed.status, 200, refreshed.text);
    const leaf = new X509Certificate(String(field(refreshed.body, 'x509Certificate')));
    t.is(leaf.subjectAltName, `${spiffe}, ${own}`);
    t.deepEqual(sshPrincipals(field(refreshed.body, 'sshCertificate')), [host]);

    const listed = await admins['sys.auth']('^/management/v1/domains/shop/instances?limit=1000');
    t.true(listed.text.includes(JSON.stringify(id)), listed.text);
    t.is((await admins.shop(path, { method: 'DELETE' })).status, 204);
    t.is((await holder('/oauth2/keys')).status, 401);
  });
}

test('ids that are not path elements are refused, also where they are only stated', async (t) => {
  for (const id of ['.', '..', '', 'a/b', 'a b', 'ä', '*']) {
    const { answer } = await attempt('shop', id, { more: { attestationData: 'x' } });
    t.is(answer.status, 400, id);
  }
});

test('the id of another tenant gives neither its name nor its SSH host certificate', async (t) => {
  const victim = await attempt('pay.core', 'db-1');
  const name = 'db-1.player.pay-core.sys-auth-server.instanceid.signet.test';
  t.true(new X509Certificate(victim.certificate).subjectAltName?.endsWith(`DNS:${name}`));
  const thief = await attempt('shop', 'db-1', { names: [['dns', name]] });
  t.is(thief.answer.status, 400, 'asked for by name');
  const own = await attempt('shop', 'db-1');
  t.false(new X509Certificate(own.certificate).subjectAltName?.includes(name));
  for (const principal of [name, 'db-1.instanceid.signet.test']) {
    const asked = await world.as(own)('/sshcert', json(hostRequest(principal, 'shop.player')));
    t.is(asked.status, 403, asked.text);
  }
});

test('a name of before is read as the one of now: at registration, refresh, and for SSH', async (t) => {
  const before = 'old-1.instanceid.signet.test';
  const now = 'old-1.player.shop.sys-auth-server.instanceid.signet.test';
  const ssh = JSON.stringify(hostRequest(before, 'shop.player'));
  const first = await attempt('shop', 'old-1', {
    names: [['dns', before]],
    more: { x509CertInstanceId: undefined, ssh },
  });
  t.is(first.answer.status, 201, first.answer.text);
  const leaf = new X509Certificate(first.certificate);
  t.is(leaf.subjectAltName, `URI:spiffe://signet.test/ns/default/sa/shop.player, DNS:${now}`);
  t.deepEqual(sshPrincipals(field(first.answer.body, 'sshCertificate')), [now]);
  const csr = requestPem(ecPair(), { commonNames: ['shop.player'], altNames: [['dns', before]] });
  const refreshed = await world.as(first)('/instance/sys.auth.server/shop/player/old-1', json({ csr }));
  t.is(new X509Certificate(String(field(refreshed.body, 'x509Certificate'))).subjectAltName, leaf.subjectAltName);
});

const hosts: readonly (readonly [name: string, hostname: string, status: number])[] = [
  ['of its own', 'node-1.hosts.example.com', 201],
  ['of one label below the suffix of the server', 'node-1.signet.test', 201],
  ['that is a service of another domain', 'player.pay.core.signet.test', 400],
  ['that is the form of another domain', 'player.pay-core.signet.test', 400],
  ['that is another service of its domain', 'studio.shop.signet.test', 400],
  ['that only an instance has', 'db-1.player.pay-core.sys-auth-server.instanceid.signet.test', 400],
  ['that only an instance had', 'db-1.instanceid.signet.test', 400],
];
for (const [name, hostname, status] of hosts) {
  test(`a provider that may state any host: one ${name}`, async (t) => {
    const { answer } = await attempt('shop', `host-${hostname.length}`, {
      names: [['dns', hostname]],
      more: { hostname },
    });
    t.is(answer.status, status, answer.text);
  });
}

test('a right to every address gives no loopback one', async (t) => {
  const { answer } = await attempt('shop', 'ip-1', { names: [['ip', Buffer.of(127, 0, 0, 1)]] });
  t.deepEqual(answer.body, {
    code: 400,
    message: 'csr ip name `127.0.0.1` is a loopback address, which no certificate holds',
  });
});

test('nobody is the token server: neither who may update it nor a provider that may launch everything', async (t) => {
  const { answer } = await attempt('sys.auth', 's-1', { service: 'server' });
  t.deepEqual(answer.body, { code: 403, message: '`sys.auth.server` is the token server itself and has no instances' });
});

test('a service gets no address at a refresh either', async (t) => {
  const player = await world.pki.identity('shop.player');
  const key = createPrivateKey(player.key);
  const pair = { privateKey: key, publicKey: createPublicKey(key) };
  const csr = requestPem(pair, { commonNames: ['shop.player'], altNames: [['ip', Buffer.of(127, 0, 0, 1)]] });
  const answer = await world.as(player)('/instance/shop/player/refresh', json({ csr }));
  t.is(field(answer.body, 'message'), 'csr ip name `127.0.0.1` is a loopback address, which no certificate holds');
});
