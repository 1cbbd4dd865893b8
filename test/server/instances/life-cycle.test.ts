import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { field, instanceRequest, instanceWorld, json, refresh, register } from '#support/instance-world';
import { openssl } from '#support/openssl';
import { revoke } from '#support/revoke';
import { wholeFile } from '#support/start-server';
import { until } from '#support/until';

const file = wholeFile();
const world = await instanceWorld(file);
test.after.always(() => file.end());

test('an instance registers with a join token, and its certificate is a valid X509-SVID that works', async (t) => {
  const instance = await register(world, 'i-1');
  const { answer } = instance;
  t.is(answer.status, 201);
  t.is(answer.headers['location'], '/v1/instance/sys.auth.server/media/player/i-1');
  t.is(answer.headers['cache-control'], 'no-store');
  t.like(answer.body, { provider: 'sys.auth.server', name: 'media.player', instanceId: 'i-1', attributes: {} });
  const leaf = new X509Certificate(instance.certificate);
  t.is(leaf.subject, 'CN=media.player');
  t.is(
    leaf.subjectAltName,
    'URI:spiffe://signet.test/ns/default/sa/media.player, DNS:i-1.player.media.sys-auth-server.instanceid.signet.test',
  );
  t.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  t.false(leaf.ca);
  writeFileSync(join(world.folder, 'i1.pem'), instance.certificate);
  writeFileSync(join(world.folder, 'i1.ca.pem'), String(field(answer.body, 'x509CertificateSigner')));
  t.deepEqual(await openssl(world.folder, 'verify', '-x509_strict', '-CAfile', 'i1.ca.pem', 'i1.pem'), {
    ok: true,
    output: 'i1.pem: OK\n',
  });
  t.deepEqual(
    await openssl(world.folder, 'verify', '-x509_strict', '-CAfile', 'bundle.pem', '-untrusted', 'i1.pem', 'i1.pem'),
    { ok: true, output: 'i1.pem: OK\n' },
  );

  const roles = await world.as(instance)('/access/domain/catalog/principal/media.player');
  t.deepEqual(roles.body, { roles: ['reader'] });
  const row = await world.store.certificates.find(leaf.serialNumber.toLowerCase());
  t.like(row, {
    kind: 'instance',
    state: 'issued',
    subject: 'media.player',
    holder: 'media.player',
    provider: 'sys.auth.server',
    instanceId: 'i-1',
  });
});

test('an instance refreshes with its current and with its previous certificate, and an older one revokes it', async (t) => {
  const first = await register(world, 'i-2');
  const second = await refresh(world, first);
  t.is(second.answer.status, 200);
  const third = await refresh(world, second);
  t.is(third.answer.status, 200);
  const again = await refresh(world, second);
  t.is(again.answer.status, 200, 'the answer with the third was lost');
  const fourth = await refresh(world, again);
  t.is(fourth.answer.status, 200);

  const stolen = await refresh(world, first);
  t.is(stolen.answer.status, 403);
  t.deepEqual(stolen.answer.body, { code: 403, message: 'the instance is revoked, it must register again' });
  for (const certificate of [second, third, again, fourth]) {
    t.is((await refresh(world, certificate)).answer.status, 401);
  }
  const replacement = await register(world, 'i-2');
  t.is(replacement.answer.status, 201);
  t.is((await refresh(world, replacement)).answer.status, 200);
});

test('a deleted instance is nobody from the next request on, also on an open connection', async (t) => {
  const instance = await register(world, 'i-3');
  const call = world.as(instance);
  t.is((await call('/access/domain/catalog/principal/media.player')).status, 200);
  const path = '/instance/sys.auth.server/media/player/i-3';
  for (const name of ['media.studio', 'catalog.admin']) {
    const refused = await (await world.identity(name))(path, { method: 'DELETE' });
    t.deepEqual(
      [refused.status, refused.body],
      [403, { code: 403, message: `principal \`${name}\` may not delete this instance` }],
    );
  }
  t.is((await call('/access/domain/catalog/principal/media.player')).status, 200);
  const admin = await world.identity('media.admin');
  t.deepEqual(
    [(await admin(path, { method: 'DELETE' })).status, (await admin(path, { method: 'DELETE' })).status],
    [204, 204],
  );
  t.is((await call('/access/domain/catalog/principal/media.player')).status, 401);
  t.is((await refresh(world, instance)).answer.status, 401);
  t.is((await admin('/instance/sys.auth.server/nowhere/player/i-3', { method: 'DELETE' })).status, 404);
});

test('the provider itself may delete its instances', async (t) => {
  await register(world, 'i-4');
  const provider = await world.identity('sys.auth.server');
  t.is((await provider('/instance/sys.auth.server/media/player/i-4', { method: 'DELETE' })).status, 204);
});

test('the certificate of a neighbour cannot refresh, nor revoke, an instance', async (t) => {
  const one = await register(world, 'i-5');
  const other = await register(world, 'i-6');
  const answer = await world.as(other)(
    '/instance/sys.auth.server/media/player/i-5',
    json({ csr: instanceRequest('i-5') }),
  );
  t.deepEqual(answer.body, { code: 403, message: 'the certificate is not one of this instance' });
  const plain = await world.identity('media.player');
  const unrecorded = await plain('/instance/sys.auth.server/media/player/i-5', json({ csr: instanceRequest('i-5') }));
  t.deepEqual(unrecorded.body, { code: 403, message: 'the certificate is not one of this instance' });
  const studio = await world.identity('media.studio');
  const foreign = await studio('/instance/sys.auth.server/media/player/i-5', json({ csr: instanceRequest('i-5') }));
  t.is(foreign.status, 403);
  t.is((await refresh(world, one)).answer.status, 200);
});

test('of fifty registrations with one token, exactly one succeeds', async (t) => {
  const attestationData = await world.token('i-7');
  const body = { provider: 'sys.auth.server', domain: 'media', service: 'player', attestationData };
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const call = world.as();
      const { status } = await call('/instance', json({ ...body, csr: instanceRequest('i-7') }));
      call.agent.destroy();
      return status;
    }),
  );
  t.deepEqual(
    [statuses.filter((status) => status === 201).length, statuses.filter((status) => status === 403).length],
    [1, 49],
  );
});

test('what a request asks for cannot lengthen a life', async (t) => {
  const now = Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000);
  for (const [expiryTime, life] of [
    [600, 600],
    [0, 2_592_000],
    [1_000_000_000, 2_592_000],
  ] as const) {
    const { certificate } = await register(world, `i-8-${expiryTime}`, { expiryTime });
    const leaf = new X509Certificate(certificate);
    t.true(Math.abs(leaf.validToDate.getTime() / 1000 - now - life) < 60);
    t.true(Math.abs(leaf.validFromDate.getTime() / 1000 - now + 3600) < 60);
  }
});

test('the revocation list holds what was deleted, its number grows, and openssl refuses by it', async (t) => {
  const instance = await register(world, 'i-9');
  const reader = await world.identity('media.studio');
  const write = async (name: string) => {
    const { text, status } = await reader('/crl?format=pem');
    t.is(status, 200);
    writeFileSync(join(world.folder, name), text);
    const shown = await openssl(world.folder, 'crl', '-in', name, '-noout', '-crlnumber');
    return Number(
      /0x([0-9A-F]+)/.exec(shown.output)?.[1] === undefined
        ? Number.NaN
        : `0x${/0x([0-9A-F]+)/.exec(shown.output)?.[1]}`,
    );
  };
  const before = await write('before.pem');
  writeFileSync(join(world.folder, 'i9.pem'), instance.certificate);
  const check = (crl: string) =>
    openssl(
      world.folder,
      'verify',
      '-x509_strict',
      '-crl_check',
      '-CRLfile',
      crl,
      '-CAfile',
      'bundle.pem',
      '-untrusted',
      'i9.pem',
      'i9.pem',
    );
  t.is((await check('before.pem')).output, 'i9.pem: OK\n');
  await (await world.identity('media.admin'))('/instance/sys.auth.server/media/player/i-9', { method: 'DELETE' });
  const after = await write('after.pem');
  t.true(after > before);
  t.true((await check('after.pem')).output.includes('certificate revoked'));
  t.is((await reader('/crl/0000')).status, 404);
});

test('the bundles of the authorities', async (t) => {
  const reader = await world.identity('media.studio');
  t.deepEqual((await reader('/cacerts/roots')).body, { name: 'roots', certs: world.pki.bundle });
  t.deepEqual((await reader('/cacerts/issuers')).body, { name: 'issuers', certs: world.pki.issuer.certificate });
  t.is((await reader('/cacerts/other')).status, 404);
  t.is((await world.as()('/cacerts/roots')).status, 401);
});

test('a certificate that an operator revokes, and a service that is disabled, are refused at once', async (t) => {
  const instance = await register(world, 'i-10');
  const call = world.as(instance);
  t.is((await call('/access/domain/catalog/principal/media.player')).status, 200);
  const serial = new X509Certificate(instance.certificate).serialNumber.toLowerCase();
  t.true(await revoke(world.store, serial, { reason: 'key-compromise', at: 1, by: 'sys.auth.operator' }));
  t.false(await revoke(world.store, serial, { reason: 'key-compromise', at: 1, by: 'sys.auth.operator' }));
  await until(
    'the server has noticed',
    async () => (await call('/access/domain/catalog/principal/media.player')).status === 401,
  );
});
