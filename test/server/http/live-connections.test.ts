import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { createPki } from '#support/pki';
import { startServer, type TestServer } from '#support/start-server';

/* Removals take effect at the next request of an open connection: each of these tests uses one socket from start to end. */

interface Connection {
  /** Sends a request; the status of its answer and its body. */
  ask(path: string): Promise<{ status: number; body: unknown }>;
  /** Waits until the server ends it. */
  hasEnded(): Promise<boolean>;
}

type Version = 'TLSv1.2' | 'TLSv1.3';

async function open(
  t: ExecutionContext,
  server: TestServer,
  name: string,
  version: Version,
  below?: Socket,
): Promise<Connection> {
  const { certificate: cert, key } = await server.pki.identity(name);
  const base = new URL(server.baseUrl);
  const socket = connect({
    ...(below === undefined ? { host: base.hostname, port: Number(base.port) } : { socket: below }),
    servername: 'localhost',
    ca: server.pki.bundle,
    cert,
    key,
    minVersion: version,
    maxVersion: version,
  });
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  const ended = once(socket, 'close');
  return {
    hasEnded: () => ended.then(() => true),
    ask: async (path) => {
      socket.write(`GET ${base.pathname}${path} HTTP/1.1\r\nHost: ${base.host}\r\n\r\n`);
      const text = await answerOn(socket);
      const body: unknown = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
      return { status: Number(text.split(' ')[1]), body };
    },
  };
}

/** The text of the next answer: its head, and as many bytes as it announces. */
async function answerOn(socket: TLSSocket): Promise<string> {
  let text = '';
  for (;;) {
    const [chunk] = await once(socket, 'data');
    text += String(chunk);
    const head = text.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
    if (head >= 0 && text.length >= head + 4 + Number(length)) return text;
  }
}

/** Replaces the authorities of clients in one step, and has the server take them. */
function trust(server: TestServer, bundle: string): void {
  const file = join(server.folder, 'bundle.pem');
  writeFileSync(`${file}.new`, bundle);
  renameSync(`${file}.new`, file);
  server.running.reload();
}

const domains = [
  { name: 'catalog', roles: { reader: ['media.player'] }, policies: { p: [['ALLOW', 'reader', 'read', 'movie']] } },
  { name: 'media', services: { player: {}, guest: {} } },
] as const;
const own = '/access/read?resource=catalog:movie';
const granted = { status: 200, body: { granted: true } };

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`an authority that is withdrawn counts no more on a live connection: ${version}`, async (t) => {
    const server = await startServer(t, { domains });
    const next = await createPki();
    const asked = await open(t, server, 'media.player', version);
    const silent = await open(t, server, 'media.player', version);
    t.deepEqual(await asked.ask(own), granted);
    trust(server, server.pki.bundle + next.bundle);
    t.deepEqual(await asked.ask(own), granted, 'one more authority takes nothing away');
    trust(server, next.bundle);
    const refused = { status: 401, body: { code: 401, message: 'client certificate is not valid' } };
    t.deepEqual(await asked.ask(own), refused, 'on a connection that has asked before');
    t.deepEqual(await silent.ask(own), refused, 'on a connection that has asked nothing yet');
    t.true(await asked.hasEnded(), 'the connection ends with the answer');
    t.true(await silent.hasEnded());
    trust(server, server.pki.bundle);
    t.deepEqual(await (await open(t, server, 'media.player', version)).ask(own), granted, 'until it is trusted again');
  });

  test(`an authority that is withdrawn while the certificate of the server is in disorder counts no more: ${version}`, async (t) => {
    const server = await startServer(t, { domains });
    const next = await createPki();
    const kept = await open(t, server, 'media.player', version);
    t.deepEqual(await kept.ask(own), granted);
    // A key has come, and its certificate has not.
    writeFileSync(join(server.folder, 'server.key.pem'), (await server.pki.identity('sys.auth.server')).key);
    trust(server, next.bundle);
    t.is((await kept.ask(own)).status, 401);
    t.true(await kept.hasEnded());
    const late = await open(t, server, 'media.player', version);
    t.is(
      (await late.ask(own)).status,
      401,
      'a handshake is with the certificate of before, against the authorities of now',
    );
  });

  test(`a handshake that began before an authority was withdrawn counts no more: ${version}`, async (t) => {
    const server = await startServer(t, { domains });
    const next = await createPki();
    const base = new URL(server.baseUrl);
    const raw = connectPlain(Number(base.port), base.hostname);
    t.teardown(() => raw.destroy());
    await once(raw, 'connect');
    // A request on another connection: the server has taken this one by then.
    await (await open(t, server, 'media.player', version)).ask(own);
    trust(server, next.bundle);
    const late = await open(t, server, 'media.player', version, raw);
    t.deepEqual((await late.ask(own)).status, 401);
  });

  test(`a service that is disabled, and a role that is removed, count no more on a live connection: ${version}`, async (t) => {
    const server = await startServer(t, { domains });
    const connection = await open(t, server, 'media.player', version);
    t.deepEqual(await connection.ask(own), granted);
    await server.save({ ...domains[0], roles: { reader: [] } });
    t.deepEqual(await connection.ask(own), { status: 200, body: { granted: false } });
    await server.save(domains[0]);
    t.deepEqual(await connection.ask(own), granted);
    await server.save({ name: 'media', services: { player: false, guest: {} } });
    const refused = {
      status: 401,
      body: {
        code: 401,
        message: 'client certificate names no enabled service: its domain must have the service, enabled',
      },
    };
    t.deepEqual(await connection.ask(own), refused);
  });
}
