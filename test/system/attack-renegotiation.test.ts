import 'reflect-metadata';
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { AuthorityKeyIdentifierExtension, GeneralName, GeneralNames } from '@peculiar/x509';
import { secureServerOptions } from '@signet/client';
import { type RequireGrantOptions, requireGrant } from '@signet/client/koa';
import { systemClock } from '@signet/policy-engine/clock';
import { type ProtectOptions, protect } from '@signet/policy-engine/koa';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { makeCertificate } from '#support/certificate-maker';
import { renegotiate } from '#support/renegotiate';
import { startProvider } from '#support/start-provider';
import { startServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

/*
 * A client in C opens a TLS 1.2 connection with a proper certificate, renegotiates with one that it made itself, and asks again. Node
 * then still says `authorized` and answers the second certificate.
 */

const clock = new TestClock(systemClock.now());
const authority = await createTestAuthority({ clock });
const own = authority.certificate('catalog.api');
const guest = authority.certificate('media.guest');
const player = authority.certificate('media.player');
const operator = await makeCertificate({ name: 'sys.auth.operator', now: clock.now() });
/** Options as the README showed them. */
const asShownBefore: ServerOptions = {
  cert: own.pem,
  key: own.key,
  ca: authority.ca.pem,
  requestCert: true,
  rejectUnauthorized: false,
};

async function listen(t: ExecutionContext, options: ServerOptions, listener: RequestListener): Promise<number> {
  const server = createServer(options, listener);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A service whose token server lets everybody in who has a name; it says who was asked about. */
async function grantingHost(t: ExecutionContext, tls: ServerOptions, more: Partial<RequireGrantOptions> = {}) {
  const asked: (string | undefined)[] = [];
  const access: RequireGrantOptions['access'] = {
    check: async ({ principal }) => {
      asked.push(principal);
      return true;
    },
  };
  const rule = { action: 'read', resource: 'catalog:movie' };
  const app = new Koa().use(requireGrant({ access, by: 'certificate', rule, ...more })).use((ctx) => {
    ctx.body = 'in';
  });
  return { asked, port: await listen(t, tls, app.callback()) };
}

test('the attack works on what Node says: authorized, and the name that the client chose', async (t) => {
  const port = await listen(t, asShownBefore, ({ socket }: IncomingMessage, answer: ServerResponse) => {
    const peer = socket instanceof TLSSocket ? [socket.authorized, socket.getPeerCertificate().subject?.CN] : [];
    answer.end(JSON.stringify(peer));
  });
  const { succeeded, bodies } = await renegotiate(t, port, '/', [guest, operator]);
  t.true(succeeded);
  t.deepEqual(bodies, ['[true,"media.guest"]', '[true,"sys.auth.operator"]']);
});

test('requireGrant does not use a certificate that the connection may have changed', async (t) => {
  const { asked, port } = await grantingHost(t, asShownBefore);
  const { succeeded, statuses } = await renegotiate(t, port, '/', [player, operator]);
  t.true(succeeded);
  t.deepEqual(statuses, [403, 403]);
  t.deepEqual(asked, []);
});

test('requireGrant with authorities uses the certificate of the last handshake, if they issued it', async (t) => {
  const { asked, port } = await grantingHost(t, asShownBefore, { authorities: authority.ca.pem });
  t.deepEqual((await renegotiate(t, port, '/', [guest, operator])).statuses, [200, 403]);
  t.deepEqual(asked.splice(0), ['media.guest']);
  t.deepEqual((await renegotiate(t, port, '/', [guest, player])).statuses, [200, 200]);
  t.deepEqual(asked.splice(0), ['media.guest', 'media.player']);
  t.deepEqual((await renegotiate(t, port, '/', [operator, player])).statuses, [403, 200]);
  t.deepEqual(asked, ['media.player']);
});

test('secureServerOptions refuse the renegotiation', async (t) => {
  const { asked, port } = await grantingHost(t, { ...asShownBefore, ...secureServerOptions });
  t.deepEqual(await renegotiate(t, port, '/', [guest, operator]), {
    succeeded: false,
    statuses: [200],
    bodies: ['in'],
  });
  t.deepEqual(asked, ['media.guest']);
});

test('protect does not take a token over a certificate that the connection may have changed', async (t) => {
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
  const engine = authority.engine({ catalog: [{ name: 'p', assertions }] }, { domains: ['catalog'] });
  const hostOf = (tls: ServerOptions, more: Partial<ProtectOptions> = {}) => {
    const app = new Koa().use(protect({ engine, rule: { action: 'read', resource: 'movie' }, ...more })).use((ctx) => {
      ctx.body = 'in';
    });
    return listen(t, tls, app.callback());
  };
  const thumbprint = new X509Certificate(operator.pem).fingerprint256.replaceAll(':', '');
  const certificate = { thumbprint: Buffer.from(thumbprint, 'hex').toString('base64url') };
  const forSelfMade = await authority.token({ domain: 'catalog', roles: ['reader'], certificate });
  const forPlayer = await authority.token({ domain: 'catalog', roles: ['reader'], certificate: player });
  const statuses = async (port: number, token: string, files = [guest, operator] as const) =>
    (await renegotiate(t, port, '/', [files[0], files[1]], { authorization: `Bearer ${token}` })).statuses;
  t.deepEqual(await statuses(await hostOf(asShownBefore), forSelfMade), [403, 403]);
  const verifying = await hostOf(asShownBefore, { authorities: authority.ca.pem });
  t.deepEqual(await statuses(verifying, forSelfMade), [403, 403]);
  t.deepEqual(await statuses(verifying, forPlayer, [player, operator]), [200, 403]);
  const secure = await hostOf({ ...asShownBefore, ...secureServerOptions });
  t.deepEqual(await statuses(secure, forPlayer, [player, operator]), [200]);
});

test('a role certificate of a self-made authority of the same name is refused, whatever the connection says', async (t) => {
  const assertions = [{ role: 'admin', action: '*', resource: '*' }];
  const engine = authority.engine({ catalog: [{ name: 'p', assertions }] });
  const port = await listen(t, asShownBefore, ({ socket }: IncomingMessage, answer: ServerResponse) => {
    const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
    const asked = { certificate, authorities: authority.ca.pem, action: 'read', resource: 'catalog:movie' };
    answer.end(engine.decideRoleCertificate(asked).status);
  });
  const fakeAuthority = await makeCertificate({ name: 'Test Authority', isAuthority: true, now: clock.now() });
  // Says that it is of another authority of that name, so that the TLS layer does not stumble over the signature.
  const otherAuthority = new AuthorityKeyIdentifierExtension({
    name: new GeneralNames([new GeneralName('dn', 'CN=Test Authority')]),
    serialNumber: '01',
  });
  const fake = await makeCertificate({
    name: 'catalog:role.admin',
    issuer: fakeAuthority,
    now: clock.now(),
    extensions: [otherAuthority],
  });
  const withChain = { pem: fake.pem + fakeAuthority.pem, key: fake.key };
  const { succeeded, bodies } = await renegotiate(t, port, '/', [
    authority.certificate('catalog:role.admin'),
    withChain,
  ]);
  t.true(succeeded);
  t.deepEqual(bodies, ['ALLOW', 'DENY_CERT_MISMATCH_ISSUER']);
});

/** `openssl s_client`, told to renegotiate once it is connected: what it says until it ends. */
async function renegotiateByOpenssl(t: ExecutionContext, port: number, { pem, key }: { pem: string; key: string }) {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'cert.pem'), pem);
  writeFileSync(join(folder, 'key.pem'), key);
  const to = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'localhost', '-tls1_2'];
  const child = spawn('openssl', [...to, '-cert', 'cert.pem', '-key', 'key.pem'], { cwd: folder, stdio: 'pipe' });
  t.teardown(() => child.kill());
  const said: string[] = [];
  let isAsked = false;
  const hear = (chunk: Buffer) => {
    said.push(chunk.toString());
    const all = said.join('');
    if (!isAsked && all.includes('Verify return code')) {
      isAsked = true;
      child.stdin.write('R\n');
    }
    // A renegotiation that succeeds shows the chain of the server a second time.
    if (all.split(/^verify return:/m).length > 4) child.stdin.end('Q\n');
  };
  child.stdin.on('error', () => undefined);
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  await new Promise((resolve) => child.once('close', resolve));
  return said.join('');
}

test('the token server, the example provider and secureServerOptions refuse `R` of openssl s_client', async (t) => {
  const server = await startServer(t, { domains: [{ name: 'media', services: { player: {} } }] });
  const identity = await server.pki.identity('media.player');
  const ofServer = { pem: identity.certificate, key: identity.key };
  const provider = await startProvider(t);
  const ofProvider = provider.authority.certificate('media.player');
  const host = await grantingHost(t, { ...asShownBefore, ...secureServerOptions });
  const targets = [
    [Number(new URL(server.baseUrl).port), ofServer],
    [Number(new URL(provider.url).port), ofProvider],
    [host.port, guest],
  ] as const;
  for (const [port, files] of targets) {
    const said = await renegotiateByOpenssl(t, port, files);
    t.regex(said, /RENEGOTIATING/);
    t.regex(said, /no renegotiation/);
  }
  for (const [port, files] of targets) {
    t.false((await renegotiate(t, port, '/healthz', [files, operator])).succeeded);
  }
});
