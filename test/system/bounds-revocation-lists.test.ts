import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { assertWithin } from '#support/cost';
import { freePort } from '#support/free-port';
import { field, type InstanceWorld, instanceDomains, type Registered, register } from '#support/instance-world';
import { openssl } from '#support/openssl';
import { type Installation, install, serve } from '#support/signet-program';
import { until } from '#support/until';

/* A server of two processes; what others check certificates with, given its lists. */

interface World {
  readonly installation: Installation;
  readonly crlUrl: string;
  readonly good: Registered;
  readonly revoked: Registered;
  register(id: string): Promise<Registered>;
  revoke(id: string): Promise<void>;
}

async function start(t: ExecutionContext): Promise<World> {
  const more = 'crl: { roots: [root.crl.pem], listen: { port: 0 } }\nworkers: 2\n';
  const installation = await install(t, { domains: instanceDomains, more });
  const serving = await serve(t, installation);
  const admin = serving.as(await installation.pki.identity('media.admin'));
  const token = async (id: string) =>
    String(field((await admin(`/instance/sys.auth.server/media/player/${id}/token`)).body, 'attestationData'));
  const world: Pick<InstanceWorld, 'as' | 'token'> = { as: serving.as, token };
  const revoke = async (id: string) => {
    t.is((await admin(`/instance/sys.auth.server/media/player/${id}`, { method: 'DELETE' })).status, 204);
  };
  const [good, revoked] = [await register(world, 'good'), await register(world, 'revoked')];
  await revoke('revoked');
  for (const { id, certificate, key } of [good, revoked]) {
    writeFileSync(join(installation.folder, `${id}.pem`), certificate);
    writeFileSync(join(installation.folder, `${id}.key`), key, { mode: 0o600 });
  }
  const { crlUrl = '' } = serving;
  const lists = await (await fetch(`${crlUrl}/chain`)).text();
  writeFileSync(join(installation.folder, 'lists.pem'), lists);
  return { installation, crlUrl, good, revoked, revoke, register: (id) => register(world, id) };
}

/** True if a server on this port answers a client with that certificate, over TLS. */
function isServed(port: number, { pki }: Installation, { certificate, key }: Registered): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: pki.bundle, cert: certificate, key });
  let text = '';
  socket.on('secureConnect', () => socket.write('GET / HTTP/1.0\r\nHost: localhost\r\n\r\n'));
  socket.on('data', (data) => {
    text += data.toString();
  });
  socket.on('error', () => resolve(false));
  socket.on('close', () => resolve(/^HTTP\/1\.[01] 200/.test(text)));
  return promise;
}

const readers: readonly (readonly [
  name: string,
  begin: (t: ExecutionContext, world: World) => Promise<number | undefined>,
])[] = [
  ['Node, `crl` of tls', startNode],
  ['nginx, `ssl_crl`', startNginx],
  ['HAProxy, `crl-file`', startHaproxy],
];

async function startNode(t: ExecutionContext, { installation: { folder, pki } }: World): Promise<number> {
  // Node takes the first list of each text.
  const crl = readFileSync(join(folder, 'lists.pem'), 'utf8').split(/(?=-----BEGIN)/);
  const own = await pki.server();
  const options = { cert: own.certificate, key: own.key, ca: pki.bundle, requestCert: true, rejectUnauthorized: true };
  const server = createServer({ ...options, crl }, (socket) => {
    socket.on('error', () => undefined);
    socket.end('HTTP/1.0 200 OK\r\n\r\n');
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

function isThere(t: ExecutionContext, program: string, flag: string): boolean {
  if (spawnSync(program, [flag]).status === 0) return true;
  t.log(`${program} is not installed: it was not checked`);
  return false;
}

function run(t: ExecutionContext, program: string, ...args: readonly string[]): void {
  const child = spawn(program, args, { stdio: 'ignore' });
  t.teardown(() => void child.kill('SIGKILL'));
}

async function startNginx(t: ExecutionContext, { installation: { folder } }: World): Promise<number | undefined> {
  if (!isThere(t, 'nginx', '-v')) return undefined;
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log; events {}
http { access_log off; ${temporary.join(' ')}
  server { listen 127.0.0.1:${port} ssl; ssl_certificate ${folder}/server.cert.pem; ssl_certificate_key ${folder}/server.key.pem;
    ssl_client_certificate ${folder}/bundle.pem; ssl_verify_client on; ssl_verify_depth 2; ssl_crl ${folder}/lists.pem;
    location / { return 200; } } }`,
  );
  run(t, 'nginx', '-c', config, '-e', join(folder, 'nginx.log'), '-p', folder);
  return port;
}

async function startHaproxy(t: ExecutionContext, world: World): Promise<number | undefined> {
  if (!isThere(t, 'haproxy', '-v')) return undefined;
  const { folder, pki } = world.installation;
  const own = await pki.server();
  writeFileSync(join(folder, 'haproxy.pem'), own.certificate + own.key, { mode: 0o600 });
  const port = await freePort();
  const config = join(folder, 'readers.cfg');
  const bind = `bind 127.0.0.1:${port} ssl crt ${folder}/haproxy.pem ca-file ${folder}/bundle.pem verify required crl-file ${folder}/lists.pem`;
  const times = 'timeout connect 60s\n timeout client 60s\n timeout server 60s';
  writeFileSync(config, `defaults\n mode http\n ${times}\nfrontend f\n ${bind}\n http-request return status 200\n`);
  run(t, 'haproxy', '-db', '-f', config);
  return port;
}

test('openssl, Node, nginx and HAProxy refuse who is revoked, and no other, by the lists of the server', async (t) => {
  t.timeout(120_000);
  const world = await start(t);
  const { folder } = world.installation;
  for (const [id, said] of [
    ['good', /^good\.pem: OK\n$/],
    ['revoked', /certificate revoked/],
  ] as const) {
    const files = ['-CAfile', 'bundle.pem', '-CRLfile', 'lists.pem', '-untrusted', `${id}.pem`, `${id}.pem`];
    t.regex((await openssl(folder, 'verify', '-x509_strict', '-crl_check_all', ...files)).output, said);
  }
  for (const [name, begin] of readers) {
    const port = await begin(t, world);
    if (port === undefined) continue;
    await until(`${name} answers`, () => isServed(port, world.installation, world.good));
    t.false(await isServed(port, world.installation, world.revoked), name);
  }
});

test('two processes answer by turns: the number of the list never falls, and each number is one list', async (t) => {
  t.timeout(120_000);
  const world = await start(t);
  const bodies = new Map<string, string>();
  let [falls, last, answers] = [0, 0n, 0];
  const look = async () => {
    // Each request has a connection of its own, which the processes share.
    const answer = await fetch(world.crlUrl, { headers: { connection: 'close' } });
    const der = Buffer.from(await answer.arrayBuffer());
    const number = numberOf(der);
    answers += 1;
    if (number < last) falls += 1;
    last = number;
    const body = bodies.get(String(number)) ?? der.toString('hex');
    t.is(body, der.toString('hex'), 'one number, one list');
    bodies.set(String(number), body);
  };
  for (let round = 0; round < 3; round += 1) {
    await world.register(`n-${round}`);
    await world.revoke(`n-${round}`);
    for (let times = 0; times < 20; times += 1) await look();
  }
  t.true(bodies.size >= 3, `${bodies.size} lists in ${answers} answers`);
  assertWithin(t, `falls of the number in ${answers} answers`, falls, 0, 'falls');
});

/** The number of a list: what follows the object identifier of its extension. */
function numberOf(der: Buffer): bigint {
  const at = der.indexOf(Buffer.from('0603551d14', 'hex'));
  const length = der[at + 8] ?? 0;
  return BigInt(`0x${der.subarray(at + 9, at + 9 + length).toString('hex')}`);
}
