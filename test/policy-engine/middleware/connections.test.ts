import 'reflect-metadata';
import { once } from 'node:events';
import { createServer as createHttp1, type Server } from 'node:http';
import {
  connect as connectHttp2,
  createSecureServer,
  type Http2SecureServer,
  type SecureServerOptions,
} from 'node:http2';
import { Agent, createServer, request, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import * as x509 from '@peculiar/x509';
import { requireGrant } from '@signet/client/koa';
import { systemClock, toDate } from '@signet/policy-engine/clock';
import { protect as protectFastify } from '@signet/policy-engine/fastify';
import { authorize, nodeRequests, protectUpgrade, secureServerOptions } from '@signet/policy-engine/http';
import { type ProtectOptions, protect } from '@signet/policy-engine/koa';
import { createTestAuthority, type TestCertificate, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import fastify from 'fastify';
import Koa from 'koa';
import { type MadeCertificate, makeCertificate } from '#support/certificate-maker';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';

/* Valid certificates of a connection, over the life of the connection and over HTTP/2. */

const start = systemClock.now();
const authority = await createTestAuthority({ clock: new TestClock(start) });
const own = authority.certificate('catalog.api');
const player = authority.certificate('media.player');
const tls = {
  cert: own.pem,
  key: own.key,
  ca: authority.ca.pem,
  requestCert: true,
  rejectUnauthorized: false,
} satisfies ServerOptions;
const secure = { ...tls, ...secureServerOptions };
const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
const engine = authority.engine({ catalog: [{ name: 'p', assertions }] }, { domains: ['catalog'] });
const rule = { action: 'read', resource: 'catalog:movie' };
const token = await authority.token({
  domain: 'catalog',
  roles: ['reader'],
  certificate: player,
  expiresInSeconds: 10_000_000,
});
const authorization = `Bearer ${token}`;

async function listen(t: ExecutionContext, server: Server | Http2SecureServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Asks over one kept connection. */
function keptConnection(
  t: ExecutionContext,
  port: number,
  { pem, key }: { pem: string; key: string },
  maxVersion?: 'TLSv1.2',
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const sockets = new Set<unknown>();
  const ask = async (headers: Record<string, string> = { authorization }) => {
    const asked = request({
      host: '127.0.0.1',
      servername: 'localhost',
      port,
      agent,
      ca: authority.ca.pem,
      cert: pem,
      key,
      headers,
      ...(maxVersion && { maxVersion }),
    });
    asked.on('socket', (socket) => sockets.add(socket));
    asked.end();
    const [answer] = await once(asked, 'response');
    await text(answer);
    return answer.statusCode;
  };
  return { ask, sockets };
}

const koaHost = (options: Partial<ProtectOptions> = {}): ReturnType<Koa['callback']> =>
  new Koa()
    .use(protect({ engine, rule, ...options }))
    .use((ctx) => {
      ctx.body = 'in';
    })
    .callback();

const grantHost = (options: object = {}): ReturnType<Koa['callback']> =>
  new Koa()
    .use(requireGrant({ access: { check: async () => true }, by: 'certificate', rule, ...options }))
    .use((ctx) => {
      ctx.body = 'in';
    })
    .callback();

for (const [name, host] of Object.entries({ protect: koaHost, requireGrant: grantHost })) {
  for (const authorities of [undefined, authority.ca.pem]) {
    const how = authorities === undefined ? 'as the TLS layer verified it' : 'with authorities';
    test(`${name}, ${how}: a certificate that ends while its connection is kept counts no more`, async (t) => {
      const clock = new TestClock(start);
      const port = await listen(t, createServer(secure, host({ clock, ...(authorities && { authorities }) })));
      const { ask, sockets } = keptConnection(t, port, player);
      t.is(await ask(), 200);
      // A certificate has whole seconds, and its last one belongs to it.
      const end = Math.floor((start + 86_400_000) / 1000) * 1000;
      clock.set(end);
      t.is(await ask(), 200);
      clock.set(end + 1);
      t.is(await ask(), 403);
      clock.set(Math.floor((start - 3_600_000) / 1000) * 1000);
      t.is(await ask(), 200);
      clock.advance(-1);
      t.is(await ask(), 403);
      t.is(sockets.size, 1);
    });
  }

  test(`${name}: a session that is resumed after the end of its certificate brings it no further`, async (t) => {
    const clock = new TestClock(start);
    const port = await listen(t, createServer(tls, host({ clock })));
    const ask = async (session?: Buffer): Promise<{ answer: string; ticket?: Buffer; isReused: boolean }> => {
      const socket: TLSSocket = connect({
        host: '127.0.0.1',
        servername: 'localhost',
        port,
        ca: authority.ca.pem,
        cert: player.pem,
        key: player.key,
        ...(session && { session }),
      });
      const tickets: Buffer[] = [];
      socket.on('session', (ticket) => tickets.push(ticket));
      await once(socket, 'secureConnect');
      const isReused = socket.isSessionReused();
      socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: ${authorization}\r\n\r\n`);
      const answer = await text(socket);
      const [ticket] = tickets;
      return { answer, ...(ticket && { ticket }), isReused };
    };
    const first = await ask();
    t.regex(first.answer, /^HTTP\/1\.1 200 /);
    const again = await ask(first.ticket);
    t.true(again.isReused);
    t.regex(again.answer, /^HTTP\/1\.1 200 /);
    clock.advance(90_000_000);
    const late = await ask(first.ticket);
    t.true(late.isReused);
    t.regex(late.answer, /^HTTP\/1\.1 403 /);
  });

  test(`${name}: over TLS 1.2 a certificate counts only on a server that refuses renegotiation`, async (t) => {
    const [insecure, safe] = [
      await listen(t, createServer(tls, host())),
      await listen(t, createServer(secure, host())),
    ];
    t.is(await keptConnection(t, insecure, player, 'TLSv1.2').ask(), 403);
    t.is(await keptConnection(t, insecure, player).ask(), 200);
    t.is(await keptConnection(t, safe, player, 'TLSv1.2').ask(), 200);
    t.is(await keptConnection(t, safe, player).ask(), 200);
    const verified = await listen(t, createServer(tls, host({ authorities: authority.ca.pem })));
    t.is(await keptConnection(t, verified, player, 'TLSv1.2').ask(), 200);
  });

  test(`${name}: options that a reload forgets make TLS 1.2 unsafe again`, async (t) => {
    const server = createServer(secure, host());
    const port = await listen(t, server);
    server.setSecureContext(secure);
    t.is(await keptConnection(t, port, player, 'TLSv1.2').ask(), 200);
    server.setSecureContext(tls);
    t.is(await keptConnection(t, port, player, 'TLSv1.2').ask(), 403);
  });

  test(`${name}: with authorities, the TLS layer may know others or none`, async (t) => {
    const options = { authorities: authority.ca.pem };
    const { ca: _, ...withoutCa } = secure;
    const port = await listen(t, createServer(withoutCa, host(options)));
    t.is(await keptConnection(t, port, player).ask(), 200);
    const other = await makeCertificate({ name: 'Test Authority', isAuthority: true, now: start });
    const otherPort = await listen(t, createServer(secure, host({ authorities: other.pem })));
    t.is(await keptConnection(t, otherPort, player).ask(), 403);
  });
}

test('a certificate that leads to an authority over an intermediate counts until the intermediate ends', async (t) => {
  const root = await makeCertificate({ name: 'Root', isAuthority: true, now: start });
  const dates = { notBefore: start - 1000, notAfter: Math.floor(start / 1000) * 1000 + 60_000 };
  const between = await makeCertificate({ name: 'Between', issuer: root, isAuthority: true, ...dates });
  const leaf = await makeCertificate({ name: 'media.player', issuer: between, now: start });
  const clock = new TestClock(start);
  const port = await listen(t, createServer(secure, grantHost({ authorities: root.pem, clock })));
  const { ask } = keptConnection(t, port, { pem: leaf.pem + between.pem, key: leaf.key });
  t.is(await ask(), 200);
  clock.set(dates.notAfter);
  t.is(await ask(), 200);
  clock.advance(1);
  t.is(await ask(), 403);
  const alone = keptConnection(t, port, leaf);
  t.is(await alone.ask(), 403);
});

test('over a server that has verified the chain itself, an intermediate among the authorities counts', async (t) => {
  const root = await makeCertificate({ name: 'Root', isAuthority: true, now: start });
  const between = await makeCertificate({ name: 'Between', issuer: root, isAuthority: true, now: start });
  const leaf = await makeCertificate({ name: 'media.player', issuer: between, now: start });
  const clock = new TestClock(start);
  const options = { authorities: root.pem + between.pem, clock };
  const port = await listen(t, createServer({ ...secure, ca: root.pem }, grantHost(options)));
  t.is(await keptConnection(t, port, { pem: leaf.pem + between.pem, key: leaf.key }).ask(), 200);
});

test('authorities do not bring back a certificate that TLS has refused', async (t) => {
  const root = await makeCertificate({ name: 'Root', isAuthority: true, now: start });
  const between = await makeCertificate({ name: 'Between', issuer: root, isAuthority: true, now: start });
  const [good, revoked] = [1, 2].map(() => makeCertificate({ name: 'media.player', issuer: between, now: start }));
  const critical = await makeCertificate({
    name: 'media.player',
    issuer: root,
    now: start,
    extensions: [new x509.Extension('1.2.3.4', true, new Uint8Array([5, 0]))],
  });
  const list = async (issuer: MadeCertificate, ...serials: readonly string[]) => {
    const made = await x509.X509CrlGenerator.create({
      issuer: issuer.certificate.subject,
      thisUpdate: toDate(start - 3_600_000),
      nextUpdate: toDate(start + 3_600_000),
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      signingKey: issuer.keys.privateKey,
      entries: serials.map((serialNumber) => ({ serialNumber, revocationDate: toDate(start - 3_600_000) })),
    });
    const lines = Buffer.from(made.rawData).toString('base64').replaceAll(/.{64}/g, '$&\n');
    return `-----BEGIN X509 CRL-----\n${lines}\n-----END X509 CRL-----\n`;
  };
  const [proper, bad] = [await good, await revoked];
  if (proper === undefined || bad === undefined) return t.fail();
  const lists = [await list(root), await list(between, bad.certificate.serialNumber.toLowerCase())];
  const withChain = ({ pem, key }: MadeCertificate) => ({ pem: pem + between.pem, key });
  for (const pem of [root.pem, root.pem + between.pem]) {
    for (const authorities of [pem, () => pem]) {
      const open = (more: object) =>
        listen(t, createServer({ ...secure, ca: root.pem, ...more }, grantHost({ authorities })));
      const [port, listed] = [await open({}), await open({ crl: lists })];
      t.is(await keptConnection(t, port, critical).ask(), 403);
      t.is(await keptConnection(t, listed, withChain(bad)).ask(), 403);
      t.is(await keptConnection(t, listed, bad).ask(), 403, 'the intermediate left out');
      if (typeof authorities === 'string' && pem === root.pem) continue;
      t.is(await keptConnection(t, listed, withChain(proper)).ask(), 200);
    }
  }
});

test('a warning says once why certificates over TLS 1.2 are not used', async (t) => {
  const port = await listen(t, createServer(tls, koaHost()));
  const warned = once(process, 'warning');
  for (const _ of [1, 2]) t.is(await keptConnection(t, port, player, 'TLSv1.2').ask(), 403);
  const [warning] = await warned;
  t.like(warning, { code: 'SIGNET_RENEGOTIATION' });
});

test('a certificate that a trusted proxy passes on counts within its dates', async (t) => {
  const forwarded = `:${Buffer.from(player.raw).toString('base64')}:`;
  const values: Record<string, string[]> = { authorization: [authorization], 'client-cert': [forwarded] };
  const asked = {
    method: 'GET',
    target: '/',
    header: (name: string) => values[name] ?? [],
    peer: { address: '10.0.0.1' },
  };
  const clock = new TestClock(start);
  const options: ProtectOptions = { engine, rule, clock, proxies: { addresses: ['10.0.0.1'] } };
  t.is((await authorize(asked, options)).kind, 'allowed');
  clock.advance(90_000_000);
  t.like(await authorize(asked, options), { kind: 'refused', decision: { status: 'DENY_CERT_HASH_MISMATCH' } });
});

/** Asks over HTTP/2; several requests of one session. */
async function askHttp2(
  t: ExecutionContext,
  port: number,
  as: TestCertificate | undefined,
  ...requests: readonly Record<string, string | string[]>[]
): Promise<number[]> {
  const session = connectHttp2(`https://localhost:${port}`, {
    ca: authority.ca.pem,
    ...(as && { cert: as.pem, key: as.key }),
  });
  t.teardown(() => session.destroy());
  const statuses: number[] = [];
  for (const headers of requests) {
    const stream = session.request({ ':path': '/movie', ...headers });
    stream.end();
    const [answer] = await once(stream, 'response');
    await text(stream);
    statuses.push(answer[':status']);
  }
  return statuses;
}

const http2Hosts: Readonly<Record<string, (t: ExecutionContext, options: SecureServerOptions) => Promise<number>>> = {
  koa: (t, options) => listen(t, createSecureServer(options, koaHost())),
  fastify: async (t, options) => {
    const app = fastify({ http2: true, https: options });
    app.addHook('onRequest', protectFastify({ engine, rule }));
    app.get('/movie', async () => 'in');
    t.teardown(() => app.close());
    return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  },
  'requireGrant in koa': (t, options) => listen(t, createSecureServer(options, grantHost())),
};

for (const [name, host] of Object.entries(http2Hosts)) {
  test(`HTTP/2, ${name}: requests of one session are decided with its certificate`, async (t) => {
    const port = await host(t, secure);
    t.deepEqual(await askHttp2(t, port, player, { authorization }, { authorization }), [200, 200]);
    t.deepEqual(await askHttp2(t, port, undefined, { authorization }), [403]);
    const stranger = (await createTestAuthority({ clock: new TestClock(start) })).certificate('media.player');
    t.deepEqual(await askHttp2(t, port, stranger, { authorization }), [403]);
    if (name.startsWith('requireGrant')) return;
    const role = { 'svc-role-auth': authorization };
    t.deepEqual(
      await askHttp2(
        t,
        port,
        player,
        {},
        role,
        { 'svc-role-auth': [authorization, 'Bearer other'] },
        { ':path': '/x/../movie', authorization },
      ),
      [403, 200, 403, 400],
    );
  });
}

test('HTTP/2: the certificate ends while the session goes on', async (t) => {
  const clock = new TestClock(start);
  const port = await listen(t, createSecureServer(secure, koaHost({ clock })));
  const session = connectHttp2(`https://localhost:${port}`, {
    ca: authority.ca.pem,
    cert: player.pem,
    key: player.key,
  });
  t.teardown(() => session.destroy());
  for (const expected of [200, 403]) {
    const stream = session.request({ ':path': '/movie', authorization });
    const [answer] = await once(stream, 'response');
    t.is(answer[':status'], expected);
    await text(stream);
    clock.advance(90_000_000);
  }
});

test('an upgrade passes only when it is allowed, and is answered otherwise', async (t) => {
  const server = createServer(secure);
  const decisions: unknown[] = [];
  const asked = ({ path }: { path: string }) => {
    if (path === '/fails') throw new Error('secret');
    return path === '/movie' ? rule : undefined;
  };
  const admit = protectUpgrade({ engine, rule: asked });
  server.on('upgrade', async (seen, socket) => {
    const listeners = socket.listenerCount('error');
    const decision = await admit(seen, socket);
    if (decision === undefined) return;
    decisions.push(decision.status, socket.listenerCount('error') - listeners);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello');
  });
  const port = await listen(t, server);
  const upgrade = async (path: string, lines: string, as = player): Promise<string> => {
    const socket = connect({
      host: '127.0.0.1',
      servername: 'localhost',
      port,
      ca: authority.ca.pem,
      cert: as.pem,
      key: as.key,
    });
    await once(socket, 'secureConnect');
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${lines}\r\n`,
    );
    return text(socket);
  };
  const withToken = `Authorization: ${authorization}\r\n`;
  t.regex(await upgrade('/movie', withToken), /^HTTP\/1\.1 101 .*hello$/s);
  t.deepEqual(decisions, ['ALLOW', 0]);
  const refused = (code: number, message: string) => {
    const body = JSON.stringify({ code, message });
    return new RegExp(`^HTTP/1\\.1 ${code} .*\r\nContent-Length: ${body.length}\r\n.*\r\n\r\n${body}$`, 's');
  };
  t.regex(await upgrade('/movie', ''), refused(403, 'a token is required'));
  t.regex(await upgrade('/movie', ''), /\r\nWWW-Authenticate: Bearer\r\n/);
  t.regex(
    await upgrade('/movie', withToken, authority.certificate('media.guest')),
    refused(403, 'the token is not valid here'),
  );
  t.regex(await upgrade('/MOVIE', withToken), refused(400, 'path is ambiguous'));
  t.regex(await upgrade('/other', withToken), refused(404, 'unknown endpoint'));
  t.regex(await upgrade('/fails', withToken), refused(500, 'internal error'));
  t.is(decisions.length, 2);
});

test('nodeRequests answers the certificate that counts, for services without a framework', async (t) => {
  const read = nodeRequests({ clock: authority.clock });
  const plain = createHttp1((seen, answer) => answer.end(String(read(seen).peer.certificate)));
  const port = await listen(t, plain);
  t.is(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'undefined');
  t.throws(() => nodeRequests({ authorities: 'CN=Root' }), { code: 'invalid-options' });
});

test('authorities that a function answers are followed on kept connections', async (t) => {
  const other = await createTestAuthority({ clock: new TestClock(start) });
  let authorities = authority.ca.pem;
  let asked = 0;
  const clock = new TestClock(start);
  const read = nodeRequests({
    clock,
    authorities: () => {
      asked += 1;
      if (authorities === 'unreadable') throw new Error('the file is gone');
      return authorities;
    },
  });
  const server = createServer(secure, (seen, answer) => {
    answer.statusCode = read(seen).peer.certificate === undefined ? 403 : 200;
    answer.end();
  });
  const { ask, sockets } = keptConnection(t, await listen(t, server), player);
  const answers: (number | undefined)[] = [];
  for (const next of [
    authority.ca.pem,
    other.ca.pem,
    other.ca.pem + authority.ca.pem,
    'none',
    'unreadable',
    authority.ca.pem,
  ]) {
    authorities = next;
    answers.push(await ask());
  }
  t.deepEqual(answers, [200, 403, 200, 403, 403, 200]);
  t.is(sockets.size, 1);
  t.is(asked, 7);
});

test('authorities that a function answers count for clients with an intermediate until they are removed', async (t) => {
  const [first, second] = await Promise.all([createPki(), createPki()]);
  const [one, two] = await Promise.all([first, second].map((pki) => pki.identity('media.player')));
  if (one === undefined || two === undefined) return t.fail('there is no identity');
  let authorities = first.bundle;
  const read = nodeRequests({ authorities: () => authorities });
  const server = createServer({ ...secure, ca: authorities }, (seen, answer) => {
    answer.statusCode = read(seen).peer.certificate === undefined ? 403 : 200;
    answer.end();
  });
  const port = await listen(t, server);
  const connect = ({ certificate, key }: typeof one) => keptConnection(t, port, { pem: certificate, key }).ask;
  const [kept, foreign] = [connect(one), connect(two)];
  t.deepEqual([await kept(), await kept(), await foreign()], [200, 200, 403]);
  authorities = second.bundle;
  server.setSecureContext({ ...secure, ca: authorities });
  t.deepEqual([await kept(), await connect(one)(), await foreign(), await connect(two)()], [403, 403, 403, 200]);
  authorities = first.bundle + second.bundle;
  server.setSecureContext({ ...secure, ca: authorities });
  t.deepEqual([await connect(one)(), await connect(two)()], [200, 200]);
});

test('connections of a Unix socket have no ends that tell them apart, and none passes for another', async (t) => {
  const [first, second] = await Promise.all([createPki(), createPki()]);
  const [one, two] = await Promise.all([first, second].map((pki) => pki.identity('media.player')));
  if (one === undefined || two === undefined) return t.fail('there is no identity');
  let authorities = first.bundle;
  const read = nodeRequests({ authorities: () => authorities });
  const server = createServer({ ...secure, ca: authorities }, (seen, answer) => {
    answer.statusCode = read(seen).peer.certificate === undefined ? 403 : 200;
    answer.end();
  });
  const path = join(temporaryFolder(t), 'socket');
  server.listen(path);
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = async ({ certificate, key }: typeof one) => {
    const socket = connect({ path, ca: authority.ca.pem, cert: certificate, key, servername: 'localhost' });
    t.teardown(() => socket.destroy());
    await once(socket, 'secureConnect');
    return async () => {
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
      const [answer] = await once(socket, 'data');
      return Number(String(answer).split(' ')[1]);
    };
  };
  const kept = await open(one);
  t.is(await kept(), 200);
  authorities = second.bundle;
  server.setSecureContext({ ...secure, ca: authorities });
  await open(two);
  t.is(await kept(), 403, 'its authority is withdrawn, though another connection began since');
});
