import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const run = promisify(execFile);

test('certificates carry their names and chain to the authority', async (t) => {
  const authority = await createTestAuthority();
  const ca = new X509Certificate(authority.ca.pem);
  const leaf = new X509Certificate(authority.certificate('media.player').pem);
  t.true(leaf.checkIssued(ca));
  t.true(leaf.verify(ca.publicKey));
  t.is(leaf.subject, 'CN=media.player');
  t.is(leaf.issuer, 'CN=Test Authority');
  t.is(leaf.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1');
  t.false(leaf.ca);
  t.true(ca.ca);
});

test('mutual TLS works with them, and the peer certificate binds a token', async (t) => {
  const authority = await createTestAuthority({ clock: new TestClock(performance.timeOrigin) });
  const [server, client] = [authority.certificate('catalog.api'), authority.certificate('media.player')];
  const engine = authority.engine({
    catalog: [
      { name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource: 'catalog:movie' }] },
    ],
  });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], certificate: client });
  const listener = createServer({ cert: server.pem, key: server.key, ca: authority.ca.pem, requestCert: true });
  t.teardown(() => listener.close());
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const address = listener.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const socket = connect({
    port: port ?? 0,
    host: 'localhost',
    cert: client.pem,
    key: client.key,
    ca: authority.ca.pem,
  });
  t.teardown(() => socket.destroy());
  const [peer]: TLSSocket[] = await once(listener, 'secureConnection');
  t.true(peer?.authorized);
  const certificate = peer?.getPeerCertificate();
  t.is((await engine.decide({ token, action: 'read', resource: 'catalog:movie', certificate })).status, 'ALLOW');
});

test('an engine that is never closed does not keep its process alive', async (t) => {
  const folder = temporaryFolder(t);
  const program = `
    import { PolicyEngine } from '@signet/policy-engine';
    import { createTestAuthority } from '@signet/policy-engine/testing';
    const authority = await createTestAuthority();
    await authority.writeBundle(${JSON.stringify(folder)}, { domain: 'catalog', policies: [] });
    const engine = await PolicyEngine.open({ policyDir: ${JSON.stringify(folder)}, clock: authority.clock });
    console.log(engine.decideRoles({ domain: 'catalog', roles: ['r'], action: 'a', resource: 'x' }).status);
  `;
  const args = ['--conditions=@signet/source', '--input-type=module', '--eval', program];
  const { stdout } = await run(process.execPath, args, { timeout: 300_000 });
  t.is(stdout, 'DENY_DOMAIN_EMPTY\n');
});
