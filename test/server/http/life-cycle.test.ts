import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { systemClock, toDate } from '@signet/policy-engine/clock';
import { keysInFiles } from '@signet/server/keys/private-keys';
import { addSigningKey } from '@signet/server/keys/rotate-keys';
import { signingKeyStore } from '@signet/server/keys/signing-key-store';
import test from 'ava';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { FakeClock } from '#support/clock';
import { operatorsDomain } from '#support/operators';
import { runSignet } from '#support/run-signet';
import { caller, form, startServer, type TestServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const domains = [
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {} } },
];
const ask = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });

async function keySet(call: ReturnType<typeof caller>) {
  return createLocalJWKSet((await call('/oauth2/keys?rfc=true')).body as Parameters<typeof createLocalJWKSet>[0]);
}

test('a key rotates while tokens are issued and verified, without one false refusal', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const server = await startServer(t, { clock, domains });
  const call = caller(t, server, await server.pki.identity('media.player'));
  const deps = {
    store: signingKeyStore(server.store, 'test'),
    privateKeys: keysInFiles(join(server.folder, 'keys')),
    clock,
  };
  const used = new Set<string | undefined>();
  let known = await keySet(call);
  let fetched = clock.now();
  await addSigningKey(deps, 'token', 3_600_000);
  await server.running.refresh();
  // A verifier that fetches the keys only when they are as old as the server allows.
  for (let minute = 0; minute < 130; minute++) {
    const { body } = await call('/oauth2/token', ask);
    const { access_token: token } = body as { access_token: string };
    if (clock.now() - fetched >= 300_000) {
      known = await keySet(call);
      fetched = clock.now();
    }
    used.add(decodeProtectedHeader(token).kid);
    await t.notThrowsAsync(jwtVerify(token, known, { currentDate: toDate(clock.now()) }), `minute ${minute}`);
    clock.advance(60_000);
  }
  t.is(used.size, 2);
});

test('a role that is removed is gone at the next refresh, and a broken store does not stop reads', async (t) => {
  const server = await startServer(t, {
    domains: [...domains, operatorsDomain],
    options: { 'snapshot.refreshIntervalMs': 50 },
  });
  const call = caller(t, server, await server.pki.identity('media.player'));
  const operator = caller(t, server, await server.pki.identity('sys.auth.operator'));
  t.is((await call('/oauth2/token', ask)).status, 200);
  await server.save({ name: 'catalog', roles: { reader: [] } });
  t.is((await call('/oauth2/token', ask)).status, 403);
  await server.save({ name: 'catalog', roles: { reader: ['media.player'] } });
  await server.store.close();
  await until('the server says that the store is gone', async () =>
    (await operator('^/readyz')).text.includes('"unreadable"'),
  );
  const ready = await call('^/readyz');
  t.deepEqual([ready.status, ready.body], [200, { status: 'ready', degraded: true }]);
  const forWrites = await call('^/readyz?for=writes');
  t.deepEqual([forWrites.status, forWrites.body], [503, { status: 'store' }]);
  t.is((await call('^/healthz')).status, 200);
  t.is((await call('/oauth2/token', ask)).status, 200);
});

test('a probe asks for reads or for writes', async (t) => {
  const server = await startServer(t);
  const probe = caller(t, server);
  for (const path of ['^/readyz', '^/readyz?for=writes', '/readyz?for=writes', '^/readyz?cache=0']) {
    const { status, body } = await probe(path);
    t.deepEqual([status, body], [200, { status: 'ready' }], path);
  }
  const other = await probe('^/readyz?for=reads');
  t.deepEqual([other.status, other.body], [400, { code: 400, message: 'for: must be `writes`' }]);
});

/** A request whose body comes in two parts. */
async function slowRequest(server: TestServer, who: { certificate: string; key: string }) {
  const url = new URL(`${server.baseUrl}/oauth2/token`);
  const body = String(ask.body);
  const sent = request(url, {
    method: 'POST',
    ca: server.pki.bundle,
    cert: who.certificate,
    key: who.key,
    agent: false,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': body.length,
      connection: 'keep-alive',
    },
  });
  // Cut by the server in one test.
  sent.on('error', () => undefined);
  sent.write(body.slice(0, 10));
  await once(sent, 'socket').then(([socket]) => once(socket, 'secureConnect'));
  return {
    async finish() {
      sent.end(body.slice(10));
      const [response] = await once(sent, 'response');
      let text = '';
      for await (const chunk of response) text += chunk;
      return { status: response.statusCode, connection: response.headers.connection, text };
    },
  };
}

test('closing lets the requests in flight end, then ends their connections', async (t) => {
  const server = await startServer(t, { domains, options: { 'timeouts.drainMs': 60_000 } });
  const who = await server.pki.identity('media.player');
  const slow = await slowRequest(server, who);
  const call = caller(t, server, who);
  await call('^/healthz');
  // The first part of the slow request has certainly arrived once its route waits for the rest.
  const start = performance.now();
  const closed = server.running.close();
  // Who came before the port was closed is answered.
  await until('nobody is accepted any more', async () => {
    const refused = await caller(t, server, who)('^/healthz').catch(String);
    return typeof refused === 'string' && /ECONNREFUSED|ECONNRESET|socket hang up/.test(refused);
  });
  const answer = await slow.finish();
  t.is(answer.status, 200);
  t.is(answer.connection, 'close');
  t.true(JSON.parse(answer.text).expires_in > 0);
  await closed;
  t.true(performance.now() - start < 50_000, 'it did not wait for the end of the drain time');
});

test('a connection that never ends is cut after the drain time', async (t) => {
  const server = await startServer(t, { domains, options: { 'timeouts.drainMs': 200 } });
  const who = await server.pki.identity('media.player');
  await slowRequest(server, who).then(({ finish }) => void finish);
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.baseUrl).port), ca: server.pki.bundle });
  socket.on('error', () => undefined);
  socket.write('GET /healthz HTTP/1.1\r\n');
  await once(socket, 'secureConnect');
  const start = performance.now();
  await server.running.close();
  t.true(performance.now() - start < 15_000);
});

test('a renewed certificate is taken into use, a bad one is not', async (t) => {
  const server = await startServer(t, { domains });
  const at = (name: string) => join(server.folder, name);
  const serial = () =>
    new Promise<string>((resolve, reject) => {
      const port = Number(new URL(server.baseUrl).port);
      const socket = connect({ host: '127.0.0.1', port, ca: server.pki.bundle }, () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  const before = await serial();
  const renewed = await server.pki.server();
  writeFileSync(at('new.pem'), renewed.certificate);
  writeFileSync(at('server.key.pem'), renewed.key);
  await until('the half-written pair is reported', () =>
    server.log.some((line) => String(line['msg']).includes('cannot be used')),
  );
  t.is(await serial(), before);
  renameSync(at('new.pem'), at('server.cert.pem'));
  await until('the new certificate is in use', async () => (await serial()) !== before);
  copyFileSync(at('bundle.pem'), at('bundle.pem'));
  server.running.reload();
  t.is((await caller(t, server, await server.pki.identity('media.player'))('/oauth2/keys')).status, 200);
});

const signet = fileURLToPath(import.meta.resolve('@signet/server/package.json')).replace(
  'package.json',
  'bin/signet.js',
);

function run(...args: readonly string[]) {
  const child = spawn(process.execPath, [signet, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = createInterface({ input: child.stdout });
  return { child, lines, ended: once(child, 'exit').then(([code]) => code as number | null) };
}

for (const workers of ['1', '2']) {
  test(`signet init and serve with ${workers} process(es): one line, then SIGTERM and status 0`, async (t) => {
    const folder = join(temporaryFolder(t), 'new');
    t.is((await runSignet('init', folder, '--port', '0', '--identity', 'media.player')).status, 0);
    t.is((await runSignet('init', folder)).status, 2);
    const config = join(folder, 'signet.yaml');
    t.is((await runSignet('--config', config, 'config', 'check')).status, 0);
    const server = run('--config', config, 'serve', '--json', '--workers', workers);
    t.teardown(() => void server.child.kill('SIGKILL'));
    const [line] = await once(server.lines, 'line');
    const { baseUrl, pid } = JSON.parse(String(line));
    t.regex(baseUrl, /^https:\/\/127\.0\.0\.1:\d+\/v1$/);
    t.is(pid, server.child.pid);
    server.child.kill('SIGTERM');
    t.is(await server.ended, 0);
  });
}

test('signet keys: a new key waits, --now does not, a compromised one is gone', async (t) => {
  const folder = join(temporaryFolder(t), 'new');
  await runSignet('init', folder, '--port', '0');
  const config = join(folder, 'signet.yaml');
  const keys = async (...args: readonly string[]) => {
    const { status, stdout } = await runSignet('--config', config, 'keys', ...args, '--json');
    t.is(status, 0);
    return JSON.parse(stdout) as { kid: string; purpose: string; state: string }[];
  };
  const states = (list: { purpose: string; state: string }[], purpose: string) =>
    list.filter((key) => key.purpose === purpose).map(({ state }) => state);
  t.deepEqual(states(await keys('list'), 'token').sort(), ['active', 'standby']);
  await keys('rotate', '--purpose', 'token');
  t.deepEqual(states(await keys('list'), 'token').sort(), ['active', 'next', 'standby']);
  await keys('rotate', '--purpose', 'token', '--now');
  const list = await keys('list');
  t.deepEqual(states(list, 'token').sort(), ['active', 'retired', 'standby', 'standby']);
  t.deepEqual(states(list, 'bundle').sort(), ['active', 'standby']);
  const bundle = list.find(({ purpose, state }) => purpose === 'bundle' && state === 'active');
  t.deepEqual(states(await keys('compromised', bundle?.kid ?? ''), 'bundle').sort(), [
    'active',
    'compromised',
    'standby',
  ]);
  t.is((await runSignet('--config', config, 'keys', 'compromised', 'nothing')).status, 1);
});
