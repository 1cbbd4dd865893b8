import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { repository, signetScript } from '#support/dev-world';
import { createPki } from '#support/pki';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* Environment variables that weaken TLS in Node or OpenSSL, against a server of another authority and one of an old version. */

const [pki, rogue] = await Promise.all([createPki(), createPki()]);
/** It has the right names: only its authority is another. */
const [own, impostor, genuine] = await Promise.all([pki.identity('media.player'), rogue.server(), pki.server()]);

interface Told {
  readonly port: number;
  readonly trust: 'pinned' | 'system';
  readonly name: string;
  readonly outcome: string;
}

/** A server that answers everything over TLS, as one of HTTPS and of PostgreSQL; `received` counts what was sent over TLS. */
async function listen(t: ExecutionContext, options: TlsOptions) {
  let received = 0;
  const secure = createTlsServer(options, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => {
      received += 1;
      socket.end(
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
      );
    });
  });
  secure.listen(0, '127.0.0.1');
  await once(secure, 'listening');
  const port = (secure.address() as AddressInfo).port;
  const server = createServer((socket) => {
    const below = connect(port, '127.0.0.1');
    for (const each of [socket, below]) each.on('error', () => [socket, below].forEach((end) => void end.destroy()));
    socket.once('data', (bytes: Buffer) => {
      const isPostgres = bytes.length === 8 && bytes.readUInt32BE(4) === 80_877_103;
      if (isPostgres) socket.write('S');
      else below.write(bytes);
      socket.pipe(below).pipe(socket);
    });
  });
  server.listen(0);
  await once(server, 'listening');
  t.teardown(() => [server, secure].forEach((each) => void each.close()));
  return { port: (server.address() as AddressInfo).port, received: () => received };
}

function filesIn(t: ExecutionContext): string {
  const folder = temporaryFolder(t);
  const texts = { 'ca.pem': pki.bundle, 'own.pem': own.certificate, 'own.key': own.key, 'rogue.pem': rogue.bundle };
  const weak =
    'openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\n';
  for (const [name, text] of Object.entries({ ...texts, 'openssl.cnf': weak })) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  return folder;
}

async function connections(
  folder: string,
  ports: readonly number[],
  env: Record<string, string>,
): Promise<readonly Told[]> {
  const script = join(repository, 'test/support/tls-connections.mjs');
  const args = [script, folder, ...ports.map(String)];
  const { stdout, stderr } = await runProgram(process.execPath, args, { env: { ...process.env, ...env } });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const environments = (folder: string): Record<string, Record<string, string>> => ({
  nothing: {},
  'NODE_TLS_REJECT_UNAUTHORIZED=0': { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  NODE_EXTRA_CA_CERTS: { NODE_EXTRA_CA_CERTS: join(folder, 'rogue.pem') },
  'SSL_CERT_FILE with --use-openssl-ca': { SSL_CERT_FILE: join(folder, 'rogue.pem'), NODE_OPTIONS: '--use-openssl-ca' },
  OPENSSL_CONF: { OPENSSL_CONF: join(folder, 'openssl.cnf') },
  'NODE_OPTIONS=--tls-min-v1.0': { NODE_OPTIONS: '--tls-min-v1.0 --tls-cipher-list=ALL:@SECLEVEL=0' },
  all: {
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_EXTRA_CA_CERTS: join(folder, 'rogue.pem'),
    OPENSSL_CONF: join(folder, 'openssl.cnf'),
    NODE_OPTIONS: '--tls-min-v1.0 --tls-cipher-list=ALL:@SECLEVEL=0',
  },
});

/** Adding authorities to those of the machine is what these are for (SECURITY.md). */
const addsAuthorities = new Set(['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE with --use-openssl-ca', 'all']);

for (const name of Object.keys(environments(''))) {
  test.serial(`${name}: no connection is made to a server of another authority, nor with TLS 1.1`, async (t) => {
    const folder = filesIn(t);
    const env = environments(folder)[name] ?? {};
    const other = await listen(t, { cert: impostor.certificate, key: impostor.key });
    const old = await listen(t, {
      cert: genuine.certificate,
      key: genuine.key,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL:@SECLEVEL=0',
    });
    const told = await connections(folder, [other.port, old.port], env);
    t.is(told.length, 24);
    const mayAnswer = ({ port, trust }: Told) => port === other.port && trust === 'system' && addsAuthorities.has(name);
    const answered = told.filter((each) => each.outcome === 'answered' && !mayAnswer(each));
    t.deepEqual(answered, [], JSON.stringify(told));
    if (!addsAuthorities.has(name)) t.is(other.received(), 0, JSON.stringify(told));
    t.is(old.received(), 0, JSON.stringify(told));
  });
}

test.serial('every connection is made to the right server', async (t) => {
  const right = await listen(t, { cert: genuine.certificate, key: genuine.key });
  const folder = filesIn(t);
  const told = await connections(folder, [right.port], { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') });
  t.deepEqual(
    told.filter(({ outcome }) => /CERT|UNABLE_TO|ERR_TLS|SSL/.test(outcome)),
    [],
  );
  t.true(right.received() >= 11, JSON.stringify(told));
});

const programs: readonly (readonly [string, string, ...string[]])[] = [
  ['signet', signetScript, '--version'],
  ['signet-updater', join(repository, 'updater/bin/signet-updater.js'), '--version'],
  ['signet-example-provider', join(repository, 'example-provider/bin/signet-example-provider.js'), '--version'],
];

for (const [program, script, ...args] of programs) {
  test.serial(`${program} names the variable that it ignores in one line`, async (t) => {
    const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const { stderr } = await runProgram(process.execPath, [script, ...args], { env });
    const lines = stderr.split('\n').filter((line) => line.includes('NODE_TLS_REJECT_UNAUTHORIZED'));
    t.deepEqual(lines, [
      `${program}: the environment variable NODE_TLS_REJECT_UNAUTHORIZED is ignored: certificates of servers are verified`,
    ]);
  });
}

test.serial(
  'commands and the updater make no request to a server of another authority, whatever Node is told',
  async (t) => {
    const folder = filesIn(t);
    const other = await listen(t, { cert: impostor.certificate, key: impostor.key });
    const url = `https://localhost:${other.port}`;
    const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const who = [
      '--url',
      url,
      '--cert',
      join(folder, 'own.pem'),
      '--key',
      join(folder, 'own.key'),
      '--ca',
      join(folder, 'ca.pem'),
    ];
    writeFileSync(
      join(folder, 'updater.yaml'),
      `baseUrl: ${url}\ncaBundle: ca.pem\ncertificate: own.pem\nkey: own.key\npolicyDir: policy\ndomains: [catalog]\n`,
    );
    for (const [script, ...args] of [
      [signetScript, 'domain', 'list', ...who],
      [signetScript, 'token', 'catalog', ...who],
      [signetScript, 'doctor', ...who],
      [join(repository, 'updater/bin/signet-updater.js'), 'once', '--config', join(folder, 'updater.yaml')],
    ] as const) {
      const { status, stdout, stderr } = await runProgram(process.execPath, [script, ...args], { cwd: folder, env });
      t.not(status, 0, `${args.join(' ')}: ${stdout}${stderr}`);
    }
    t.is(other.received(), 0);
  },
);
