import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import {
  parseDomainName,
  parseKeyId,
  parsePathElement,
  parsePrincipalName,
  parseServiceName,
} from '@signet/policy-engine/names';
import type { DomainContent } from '@signet/server/model/records';
import { rowSerial } from '@signet/server/ssh/certificate-log';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test, { type ExecutionContext } from 'ava';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Answering, confirm, registration, worldWith } from '#support/called-provider';
import {
  field,
  type InstanceWorld,
  instanceDomains,
  instanceNames,
  instanceRequest,
  instanceWorld,
  json,
  keyPem,
  refresh,
  register,
} from '#support/instance-world';
import { ecPair, type Pair, requestPem } from '#support/requests';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

/* Ties of a credential: nothing that is made from one outlives it, and it ends with its cause. */

const now = () => Math.floor(systemClock.now() / 1000);
const sshKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));

function sshRequest(certType: 'user' | 'host', requestor: string, ...principals: readonly string[]) {
  return { certRequestData: { principals, publicKey: sshKey }, certRequestMeta: { requestor, certType } };
}

/** The end of the SSH certificate in an answer, in seconds since the epoch. */
function sshEnd(line: unknown): number {
  return Number(readSshCertificate(Buffer.from(String(line).split(' ')[1] ?? '', 'base64')).validBefore);
}

function sshSerial(line: unknown): string {
  return rowSerial(readSshCertificate(Buffer.from(String(line).split(' ')[1] ?? '', 'base64')).serial);
}

const endOf = (pem: string) => new X509Certificate(pem).validToDate.getTime() / 1000;
const serialOf = (pem: string) => new X509Certificate(pem).serialNumber.toLowerCase();

function pairOf(key: string): Pair {
  return { privateKey: createPrivateKey(key), publicKey: createPublicKey(key) };
}

/** The authorities of SSH; `media.player` and `media.admin` may log in as `deploy`. */
function sshOptions(t: ExecutionContext): Record<string, string> {
  const folder = temporaryFolder(t);
  const authority = (name: string) => {
    const file = join(folder, name);
    writeFileSync(file, createSshAuthorityKey(), { mode: 0o600 });
    return file;
  };
  return { 'ssh.hostAuthority': authority('host.pem'), 'ssh.userAuthority': authority('user.pem') };
}

const [system, prov, media, catalog] = instanceDomains;
const withLogins = [
  {
    ...system,
    roles: { ...system.roles, operators: ['media.player', 'media.admin'] },
    policies: { ...system.policies, logins: [['ALLOW', 'operators', 'ssh_login', 'ssh.deploy']] as const },
  },
  prov,
  media,
  catalog,
];

const certificateIn = (body: unknown) => {
  const [first]: unknown[] = Array.isArray(field(body, 'certificates')) ? Object(body).certificates : [];
  return field(first, 'certificate');
};

test('no SSH certificate outlives the certificate that asked for it, by any route', async (t) => {
  const world = await instanceWorld(t, { domains: withLogins, options: sshOptions(t) });
  const name = 'x-1.player.media.sys-auth-server.instanceid.signet.test';
  const ssh = JSON.stringify(sshRequest('host', 'media.player', name));
  const short = await register(world, 'x-1', { expiryTime: 120, ssh });
  t.is(short.answer.status, 201, short.answer.text);
  t.is(sshEnd(field(short.answer.body, 'sshCertificate')), endOf(short.certificate), 'register');

  const call = world.as(short);
  const host = await call('/sshcert', json(sshRequest('host', 'media.player', name)));
  t.is(host.status, 201, host.text);
  t.is(sshEnd(certificateIn(host.body)), endOf(short.certificate), 'a host');
  const user = await call('/sshcert', json(sshRequest('user', 'media.player', 'deploy')));
  t.is(user.status, 201, user.text);
  t.is(sshEnd(certificateIn(user.body)), endOf(short.certificate), 'a login');

  const path = '/instance/sys.auth.server/media/player/x-1';
  const alone = await call(path, json({ ssh, hostname: undefined, csr: undefined }));
  t.is(alone.status, 403, 'names come with the request for a certificate');
  const both = await call(path, json({ ssh, csr: instanceRequest('x-1', pairOf(short.key)), expiryTime: 90 }));
  t.is(both.status, 200, both.text);
  t.is(sshEnd(field(both.body, 'sshCertificate')), endOf(String(field(both.body, 'x509Certificate'))), 'refresh');
});

test('a refresh for SSH alone is bounded by the certificate that asked', async (t) => {
  const rules = [...system.policies.providers, ['ALLOW', 'providers', 'launch', 'hostname.*']] as const;
  const domains = [{ ...system, policies: { providers: rules } }, prov, media, catalog];
  const world = await instanceWorld(t, { domains, options: sshOptions(t) });
  const instance = await register(world, 'x-2', { expiryTime: 120 });
  const hostname = 'one.hosts.example';
  const ssh = JSON.stringify(sshRequest('host', 'media.player', hostname));
  const answer = await world.as(instance)('/instance/sys.auth.server/media/player/x-2', json({ ssh, hostname }));
  t.is(answer.status, 200, answer.text);
  t.is(sshEnd(field(answer.body, 'sshCertificate')), endOf(instance.certificate));
});

/** Registers with the provider that is called; its DNS name is `player.media.prov.example.com`. */
async function registerCalled(world: InstanceWorld, id: string) {
  const pair = ecPair();
  const answer = await world.as()('/instance', json(registration(id, pair)));
  return { answer, pair, certificate: String(field(answer.body, 'x509Certificate')), key: keyPem(pair) };
}

test('an instance whose provider does not allow SSH gets none at /sshcert, as the provider said last', async (t) => {
  let certSSH = 'false';
  const answering: Answering = (call, response, request) => confirm({ certSSH })(call, response, request);
  const world = await worldWith(t, answering, sshOptions(t));
  const { pair, ...instance } = await registerCalled(world, 's-1');
  const hostname = 'player.media.prov.example.com';
  const ask = (who: { certificate: string; key: string }) =>
    world.as(who)('/sshcert', json(sshRequest('host', 'media.player', hostname)));
  const refused = { code: 403, message: 'provider `prov.cloud` does not allow this instance an SSH certificate' };
  t.deepEqual((await ask(instance)).body, refused);

  certSSH = 'true';
  const altNames = [...instanceNames('s-1'), ['dns', hostname]] as const;
  const csr = () => requestPem(pair, { commonNames: ['media.player'], altNames });
  const path = '/instance/prov.cloud/media/player/s-1';
  const second = await world.as(instance)(path, json({ csr: csr() }));
  const next = { certificate: String(field(second.body, 'x509Certificate')), key: instance.key };
  t.is((await ask(next)).status, 201);
  t.is((await ask(instance)).status, 201, 'the previous one counts as well');
  const third = await world.as(next)(path, json({ csr: csr() }));
  t.is((await ask(instance)).status, 403, 'an older one does not');

  certSSH = 'false';
  const last = { certificate: String(field(third.body, 'x509Certificate')), key: instance.key };
  const ssh = JSON.stringify(sshRequest('host', 'media.player', hostname));
  const nothing = await world.as(last)(path, json({ ssh }));
  t.is(nothing.status, 200);
  t.is(field(nothing.body, 'sshCertificate'), undefined);
  t.deepEqual((await ask(last)).body, refused);
});

test('SSH alone is given to no certificate that left the lineage while the provider was asked', async (t) => {
  const hostname = 'one.hosts.example';
  const allowed = { certSSH: 'true', attestedSshCertPrincipals: hostname };
  const waiting = Promise.withResolvers<() => void>();
  const answering: Answering = (call, response, request) => {
    if (call.path === '/attest/instance') confirm()(call, response, request);
    else waiting.resolve(() => confirm(allowed)(call, response, request));
  };
  const world = await worldWith(t, answering, sshOptions(t));
  const rules = [...system.policies.providers, ['ALLOW', 'providers', 'launch', 'hostname.hosts.example']] as const;
  await world.save({ ...system, policies: { providers: rules } });
  const { pair: _, ...instance } = await registerCalled(world, 's-2');
  const ssh = JSON.stringify(sshRequest('host', 'media.player', hostname));
  const late = world.as(instance)('/instance/prov.cloud/media/player/s-2', json({ ssh }));
  const answer = await waiting.promise;
  t.is((await registerCalled(world, 's-2')).answer.status, 201);
  answer();
  t.deepEqual((await late).body, { code: 403, message: 'the instance is revoked, it must register again' });
  const record = await world.store.instances.find({
    provider: parsePrincipalName('prov.cloud'),
    domain: parseDomainName('media'),
    service: parseServiceName('player'),
    instanceId: parsePathElement('s-2'),
  });
  t.like(record, { sshAllowed: false, revoked: true });
});

test('SSH certificates are revoked with the certificate that asked for them', async (t) => {
  const world = await instanceWorld(t, { domains: withLogins, options: sshOptions(t) });
  const name = 'x-3.player.media.sys-auth-server.instanceid.signet.test';
  const instance = await register(world, 'x-3');
  const call = world.as(instance);
  const serials: string[] = [];
  for (const asked of [
    sshRequest('host', 'media.player', name),
    sshRequest('user', 'media.player', 'deploy'),
    sshRequest('user', 'media.player', 'deploy'),
  ]) {
    const answer = await call('/sshcert', json(asked));
    t.is(answer.status, 201, answer.text);
    serials.push(sshSerial(certificateIn(answer.body)));
  }
  const other = await world.identity('media.admin');
  const neighbour = await other('/sshcert', json(sshRequest('user', 'media.admin', 'deploy')));
  const kept = sshSerial(certificateIn(neighbour.body));
  const [, , last = ''] = serials;
  await world.store.change({ actor: 'x' }, (change) =>
    change.revokeCertificate(last, { reason: 'superseded', at: now(), by: 'x' }),
  );
  const admin = await world.identity('media.admin');
  t.is((await admin('/instance/sys.auth.server/media/player/x-3', { method: 'DELETE' })).status, 204);
  const revoked = (await world.store.certificates.revocationsAfter(0, 0)).map(({ serial }) => serial);
  t.deepEqual([...revoked].sort(), [serialOf(instance.certificate), ...serials].sort());
  t.false(revoked.includes(kept));
  const [audit] = await world.store.audit({ subject: 'sys.auth.server/media/player/x-3', limit: 1 });
  t.is(JSON.parse(audit?.after ?? '').certificates.length, 3);

  const operator = await register(world, 'x-4');
  const login = await world.as(operator)('/sshcert', json(sshRequest('user', 'media.player', 'deploy')));
  const serial = serialOf(operator.certificate);
  const revocation = { reason: 'key-compromise', at: now(), by: 'x' } as const;
  t.true(await world.store.change({ actor: 'x' }, (change) => change.revokeCertificate(serial, revocation)));
  const ssh = [sshSerial(certificateIn(login.body))];
  const [record] = await world.store.audit({ subject: serial, limit: 1 });
  t.deepEqual(JSON.parse(record?.after ?? ''), { at: revocation.at, reason: 'key-compromise', asked: ssh });
  t.like(await world.store.certificates.revocationsAfter(revoked.length, 0), [{ serial }, { serial: ssh[0] }]);
});

const vouching = ecPair();
const pem = vouching.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const nextKey = ecPair();
const nextPem = nextKey.publicKey.export({ type: 'spki', format: 'pem' }).toString();

function serviceWorld(t: ExecutionContext, keys: Readonly<Record<string, string>>) {
  const services = { ...media.services, player: { v1: pem }, studio: keys };
  const roles = { ...media.roles, operators: ['media.admin'] };
  const policies = { ...media.policies, own: [['ALLOW', 'operators', 'update', 'service']] as const };
  return instanceWorld(t, { domains: [system, prov, { ...media, services, roles, policies }, catalog] });
}

function studioRequest(pair: Pair): string {
  const altNames = [['uri', 'spiffe://signet.test/ns/default/sa/media.studio']] as const;
  return requestPem(pair, { commonNames: ['media.studio'], altNames });
}

async function setKeys(world: InstanceWorld, keys: readonly (readonly [id: string, pem: string])[]): Promise<void> {
  const before = await world.store.domain(parseDomainName('media'));
  if (before === undefined) throw new Error('no domain');
  const services = before.services.map((service) =>
    service.name === 'studio'
      ? { ...service, publicKeys: keys.map(([id, text]) => ({ id: parseKeyId(id), pem: text })) }
      : service,
  );
  const content: DomainContent = { ...before, services };
  await world.store.change({ actor: 'media.admin' }, (transaction) => saveDomain(transaction, content));
  await world.running.refresh();
}

const refreshStudio = '/instance/media/studio/refresh';

test("an instance's certificate stays in its lineage whatever key it names", async (t) => {
  const world = await serviceWorld(t, {});
  const instance = await register(world, 'k-1');
  const csr = requestPem(vouching, { commonNames: ['media.player'], altNames: instanceNames('k-1') });
  const ask = (who: { certificate: string; key: string }) =>
    world.as(who)('/instance/media/player/refresh', json({ csr, keyId: 'v1' }));
  const good = await ask(instance);
  t.is(good.status, 200, good.text);
  const renewed = String(field(good.body, 'certificate'));
  t.like(await world.store.certificates.find(serialOf(renewed)), { kind: 'instance', instanceId: 'k-1' });

  const admin = await world.identity('media.admin');
  t.is((await admin('/instance/sys.auth.server/media/player/k-1', { method: 'DELETE' })).status, 204);
  t.is((await ask(instance)).status, 401);
  t.is((await ask({ certificate: renewed, key: keyPem(vouching) })).status, 401);
});

test('an instance whose certificate the store does not know renews nothing and is not a host', async (t) => {
  const options = sshOptions(t);
  const world = await instanceWorld(t, { options });
  const instance = await register(world, 'k-2');
  // Another store, as after a restore from a backup of before.
  const restored = await instanceWorld(t, { options, pki: world.pki });
  const call = restored.as(instance);
  const message = 'the certificate of an instance is not known here, it must register again';
  const csr = instanceRequest('k-2', pairOf(instance.key));
  t.deepEqual((await call('/instance/media/player/refresh', json({ csr }))).body, { code: 403, message });
  const host = await call(
    '/sshcert',
    json(sshRequest('host', 'media.player', 'k-2.player.media.sys-auth-server.instanceid.signet.test')),
  );
  t.deepEqual(host.body, { code: 403, message });
});

test('a certificate ends with the key that vouched for it, and so do those that were refreshed from it', async (t) => {
  const world = await serviceWorld(t, { v1: pem, v2: nextPem });
  const admin = await world.identity('media.admin');
  const first = await admin(refreshStudio, json({ csr: studioRequest(vouching), keyId: 'v1' }));
  t.is(first.status, 200, first.text);
  const one = { certificate: String(field(first.body, 'certificate')), key: keyPem(vouching) };
  const record = await world.store.certificates.find(serialOf(one.certificate));
  t.like(record, { holder: 'media.studio', vouchedKey: 'v1' }, 'whose it is, not who asked');

  const second = await world.as(one)(refreshStudio, json({ csr: studioRequest(vouching) }));
  const two = { certificate: String(field(second.body, 'certificate')), key: keyPem(vouching) };
  t.like(await world.store.certificates.find(serialOf(two.certificate)), { vouchedKey: 'v1' });
  const other = await world.as(two)(refreshStudio, json({ csr: studioRequest(nextKey), keyId: 'v2' }));
  const three = { certificate: String(field(other.body, 'certificate')), key: keyPem(nextKey) };
  t.like(await world.store.certificates.find(serialOf(three.certificate)), { vouchedKey: 'v2' });
  const unnamed = await world.identity('media.studio');
  const plain = await unnamed(refreshStudio, json({ csr: studioRequest(ecPair()) }));
  t.is(plain.status, 400);

  await setKeys(world, [['v2', nextPem]]);
  for (const who of [one, two]) {
    t.is((await world.as(who)(refreshStudio, json({ csr: studioRequest(vouching) }))).status, 401);
  }
  t.is((await world.as(three)(refreshStudio, json({ csr: studioRequest(nextKey) }))).status, 200, 'of another key');
  const audit = await world.store.audit({ subject: serialOf(two.certificate), limit: 1 });
  t.like(audit[0], { action: 'revoke-certificate', actor: 'media.admin' });

  await setKeys(world, [['v2', pem]]);
  t.is((await world.as(three)('/crl')).status, 401, 'another key took the id');
});

test('a key that is written in another way stays, one that comes back vouches for nothing of before', async (t) => {
  const world = await serviceWorld(t, { v1: pem });
  const admin = await world.identity('media.admin');
  const given = await admin(refreshStudio, json({ csr: studioRequest(vouching), keyId: 'v1' }));
  const one = { certificate: String(field(given.body, 'certificate')), key: keyPem(vouching) };
  await setKeys(world, [['v1', pem.replaceAll('\n', '\r\n')]]);
  t.is((await world.as(one)('/crl')).status, 200);
  await setKeys(world, []);
  await setKeys(world, [['v1', pem]]);
  t.is((await world.as(one)('/crl')).status, 401);
});

test('a key that is registered and was not named is remembered as well', async (t) => {
  const world = await serviceWorld(t, {});
  const identity = await world.pki.identity('media.studio');
  const own = pairOf(identity.key);
  await setKeys(world, [['own', own.publicKey.export({ type: 'spki', format: 'pem' }).toString()]]);
  const given = await world.as(identity)(refreshStudio, json({ csr: studioRequest(own) }));
  const one = { certificate: String(field(given.body, 'certificate')), key: identity.key };
  await setKeys(world, []);
  t.is((await world.as(one)('/crl')).status, 401);
});

test('a serial number counts once as the previous one', async (t) => {
  const world = await instanceWorld(t);
  const first = await register(world, 'p-1');
  const second = await refresh(world, first);
  const again = await refresh(world, first);
  t.deepEqual([second.answer.status, again.answer.status], [200, 200], 'one answer was lost');
  const stolen = await refresh(world, first);
  t.deepEqual(stolen.answer.body, { code: 403, message: 'the instance is revoked, it must register again' });
  t.is((await refresh(world, again)).answer.status, 401);

  // A refresh with the current one makes the next previous one, which counts once as well.
  const other = await register(world, 'p-2');
  const one = await refresh(world, other);
  const two = await refresh(world, one);
  t.is(two.answer.status, 200);
  t.deepEqual([(await refresh(world, one)).answer.status, (await refresh(world, one)).answer.status], [200, 403]);
});

test('join tokens end with their instance', async (t) => {
  const world = await instanceWorld(t);
  const admin = await world.identity('media.admin');
  const path = '/instance/sys.auth.server/media/player/j-1';
  const unspent = await world.token('j-1');
  const neighbour = await world.token('j-2');
  await register(world, 'j-1');
  t.is((await admin(path, { method: 'DELETE' })).status, 204);
  const attempt = (id: string, attestationData: string) => {
    const body = { provider: 'sys.auth.server', domain: 'media', service: 'player', attestationData };
    return world.as()('/instance', json({ ...body, csr: instanceRequest(id) }));
  };
  const ended = await attempt('j-1', unspent);
  t.deepEqual(ended.body, {
    code: 403,
    message:
      'attestationData is not a valid join token for this instance: it was used, has expired or belongs to another one; `signet instance token` makes one',
  });
  t.is((await attempt('j-2', neighbour)).status, 201);
  t.is((await attempt('j-1', await world.token('j-1'))).status, 201, 'a token of afterwards counts');

  // Without an instance, only its tokens end.
  const early = await world.token('j-3');
  t.is((await admin('/instance/sys.auth.server/media/player/j-3', { method: 'DELETE' })).status, 204);
  t.is((await attempt('j-3', early)).status, 403);
  const [audit] = await world.store.audit({ subject: 'sys.auth.server/media/player/j-3', limit: 1 });
  t.like(audit, { action: 'delete-instance', actor: 'media.admin' });
  t.deepEqual(JSON.parse(audit?.after ?? ''), { reason: 'cessation-of-operation', certificates: [], joinTokens: 1 });

  // Revoked by its lineage.
  const first = await register(world, 'j-4');
  const kept = await world.token('j-4');
  const second = await refresh(world, first);
  await refresh(world, second);
  t.is((await refresh(world, first)).answer.status, 403);
  t.is((await attempt('j-4', kept)).status, 403);
});

test('a registration with a join token that ends while it is under way gives nothing', async (t) => {
  const { store } = await instanceWorld(t);
  const key = {
    provider: parsePrincipalName('sys.auth.server'),
    domain: parseDomainName('media'),
    service: parseServiceName('player'),
    instanceId: parsePathElement('j-9'),
  };
  const holder = parsePrincipalName('media.player');
  await store.instances.addJoinToken('digest', { ...key, expires: 100, createdBy: holder });
  t.true(await store.instances.isJoinTokenOpen('digest', key, 1));
  await store.change({ actor: 'x' }, (transaction) =>
    transaction.removeInstance(key, { reason: 'cessation-of-operation', at: 2, by: 'x' }),
  );
  const row = { serial: '01', issuer: 'i', kind: 'instance', subject: holder, notBefore: 0, notAfter: 100 } as const;
  await store.certificates.intend({ ...row, holder, provider: key.provider, instanceId: key.instanceId }, 2);
  const given = { serial: '01', fingerprint: 'f', notAfter: 100 };
  const details = { clientOnly: false, joinToken: 'digest', at: 3 };
  await t.throwsAsync(store.instances.register(key, given, details), { message: /was used or has expired/ });
  t.is(await store.instances.find(key), undefined);
});

test("the provider's own certificate is checked against revocations", async (t) => {
  const world = await worldWith(t, confirm());
  t.is((await registerCalled(world, 'r-1')).answer.status, 201);
  const row = {
    serial: serialOf(world.presented),
    issuer: 'pki',
    kind: 'service',
    subject: 'prov.cloud',
    notBefore: 0,
    notAfter: now() + 3600,
  } as const;
  await world.store.certificates.intend({ ...row, holder: parsePrincipalName('prov.cloud') }, now());
  const revocation = { reason: 'key-compromise', at: now(), by: 'operator' } as const;
  await world.store.change({ actor: 'operator' }, (change) => change.revokeCertificate(row.serial, revocation));
  await world.running.refresh();
  const asked = world.calls.length;
  const { answer } = await registerCalled(world, 'r-2');
  t.deepEqual(answer.body, { code: 500, message: 'provider `prov.cloud` does not answer' });
  t.is(world.calls.length, asked, 'it was told nothing');
});

test('a signed token registers once, on whichever server, and refreshes the instance that it registered', async (t) => {
  const pair = await generateKeyPair('RS256', { extractable: true });
  const keysFile = join(temporaryFolder(t), 'keys.json');
  writeFileSync(
    keysFile,
    JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'RS256' }] }),
  );
  const issuer = { issuer: 'https://ci.example', audience: 'signet', subject: 'ci:{domain}:{service}', keysFile };
  const world = await instanceWorld(t, { options: { 'instances.jwtIssuers': [{ provider: 'prov.jwt', ...issuer }] } });
  const signed = (more: Readonly<Record<string, unknown>>) =>
    new SignJWT({ iss: issuer.issuer, aud: 'signet', sub: 'ci:media:player', iat: now(), exp: now() + 600, ...more })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign(pair.privateKey);
  const own = ecPair();
  const attempt = (id: string, attestationData: string) => {
    const body = { provider: 'prov.jwt', domain: 'media', service: 'player', attestationData };
    return world.as()('/instance', json({ ...body, csr: instanceRequest(id, own) }));
  };
  const used = { code: 403, message: 'attestationData is a token that was used before' };
  for (const [index, claims] of [{ jti: 'one' }, {}].entries()) {
    const token = await signed({ ...claims, n: index });
    const first = await attempt(`a-${index}`, token);
    t.is(first.status, 201, first.text);
    t.deepEqual((await attempt(`a-${index}`, token)).body, used, 'the same instance');
    t.deepEqual((await attempt(`b-${index}`, token)).body, used, 'another one');
    const identity = { certificate: String(field(first.body, 'x509Certificate')), key: keyPem(own) };
    const csr = instanceRequest(`a-${index}`, own);
    const path = `/instance/prov.jwt/media/player/a-${index}`;
    t.is((await world.as(identity)(path, json({ csr, attestationData: token }))).status, 200);
    const fresh = await signed({ jti: `fresh-${index}` });
    t.is((await attempt(`c-${index}`, fresh)).status, 201);
    t.deepEqual((await world.as(identity)(path, json({ csr, attestationData: fresh }))).body, used, "a neighbour's");
  }
  t.deepEqual((await attempt('d-1', await signed({ jti: 'one', other: true }))).body, used, 'the same `jti`');
  const odd = await attempt('d-2', await signed({ jti: 7 }));
  t.is(field(odd.body, 'message'), 'attestationData is a token with a `jti` that is not a string');
  const many = await signed({ jti: 'many' });
  const statuses = await Promise.all(Array.from({ length: 20 }, (_, i) => attempt(`e-${i}`, many)));
  t.is(statuses.filter(({ status }) => status === 201).length, 1);
});

test("a neighbour's certificate raises an alarm and revokes nobody", async (t) => {
  const world = await instanceWorld(t);
  const one = await register(world, 'n-1');
  const other = await register(world, 'n-2');
  const path = '/instance/sys.auth.server/media/player/n-1';
  const call = world.as(other);
  for (const csr of [instanceRequest('n-1'), instanceRequest('n-1')]) {
    t.is((await call(path, json({ csr }))).status, 403);
  }
  const studio = await world.identity('media.studio');
  t.is((await studio(path, json({ csr: instanceRequest('n-1') }))).status, 403);
  const presented = serialOf(other.certificate);
  const subject = 'sys.auth.server/media/player/n-1';
  const records = await world.store.audit({ subject, limit: 10 });
  t.deepEqual(
    records.map(({ action, actor, certificateSerial }) => [action, actor, certificateSerial]),
    [
      ['refuse-refresh', 'media.studio', records[0]?.certificateSerial],
      ['refuse-refresh', 'media.player', presented],
    ],
    'one record for a certificate a minute',
  );
  const warnings = world.log.filter(({ msg }) => msg === 'a certificate was used to refresh another instance');
  t.deepEqual(
    warnings.map(({ level, serial, instanceId }) => [level, serial === presented, instanceId]),
    [
      ['warn', true, 'n-1'],
      ['warn', true, 'n-1'],
      ['warn', false, 'n-1'],
    ],
  );
  t.is((await refresh(world, one)).answer.status, 200);
});
