import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createNetServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { gracefulServer } from '@signet/policy-engine/http';
import { TestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';

const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** A server whose answers wait for `release`. */
async function start(listener?: RequestListener) {
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    arrived.resolve();
    await gate.promise;
    if (listener === undefined) response.end('done');
    else listener(request, response);
  });
  const graceful = gracefulServer(server);
  const socket = await dial(server);
  return { server, graceful, socket, arrived: arrived.promise, release: gate.resolve };
}

async function dial(server: Pick<Server, 'listening' | 'listen' | 'address' | 'once'>): Promise<Socket> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

test('requests that were sent one after the other are all answered, and the last answer says that it is the last', async (t) => {
  const { graceful, socket, arrived, release } = await start();
  socket.write(get.repeat(3));
  await arrived;
  t.false(graceful.isClosing);
  const closed = graceful.close();
  t.true(graceful.isClosing);
  t.is(graceful.close(), closed);
  release();
  const answers = (await text(socket)).split('HTTP/1.1 200 OK').slice(1);
  await closed;
  t.deepEqual(
    answers.map((answer) => /connection: ([a-z-]+)/i.exec(answer)?.[1]),
    ['keep-alive', 'keep-alive', 'close'],
  );
});

test('a request that comes on an idle connection while the server stops is answered', async (t) => {
  const { graceful, socket, release } = await start();
  release();
  socket.write(get);
  await once(socket, 'data');
  const closed = graceful.close({ idleMs: 20_000 });
  socket.write(get);
  t.regex(await text(socket), /connection: close[\s\S]*done/i);
  await closed;
});

test('an idle connection is left open until nothing was asked on it for long enough', async (t) => {
  const { server, graceful, socket, release } = await start();
  release();
  socket.write(get);
  await once(socket, 'data');
  const closed = graceful.close({ idleMs: 60_000, deadlineMs: 120_000 });
  // The first look at the connections follows the end of the port.
  while (server.listening) await nextTurn();
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  socket.write(get);
  t.regex(await text(socket), /connection: close[\s\S]*done/i);
  await closed;
});

test('idle connections end soon, the beginning of a request keeps one until the deadline', async (t) => {
  const { server, graceful, socket } = await start();
  const idle = await dial(server);
  socket.write('GET / HT');
  const ends: string[] = [];
  const ended = [idle, socket].map(async (each, index) => {
    each.resume();
    each.on('error', () => undefined);
    await once(each, 'close');
    ends.push(['idle', 'begun'][index] ?? '');
  });
  await Promise.all([graceful.close({ idleMs: 10, deadlineMs: 2000 }), ...ended]);
  t.deepEqual(ends, ['idle', 'begun']);
});

test('an answer to a request that came with the one before it is waited for, however long the connection is silent', async (t) => {
  const second = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let count = 0;
  const { server, graceful, socket, release } = await start(async (_, response) => {
    count += 1;
    if (count === 2) {
      begun.resolve();
      await second.promise;
    }
    response.end(`done ${count}`);
  });
  release();
  socket.write(get.repeat(2));
  await begun.promise;
  const received = text(socket);
  const idle = await dial(server);
  const idleEnded = once(idle.resume(), 'close');
  const closed = graceful.close({ idleMs: 1, deadlineMs: 60_000 });
  await idleEnded;
  second.resolve();
  t.regex(await received, /done 1[\s\S]*done 2/);
  await closed;
});

test('a client that takes its time between requests is waited for as long, not only the time of idle connections', async (t) => {
  let now = 0;
  const server = createServer({ keepAliveTimeout: 0 }, (_, response) => void response.end('done'));
  const graceful = gracefulServer(server, { now: () => now });
  const ask = async (socket: Socket) => {
    socket.write(get);
    await once(socket, 'data');
  };
  const [slow, quick] = [await dial(server), await dial(server)];
  await ask(quick);
  await ask(slow);
  // Its pauses are forgotten by halves: 32 s, 16 s, 8 s.
  now = 32_000;
  for (const _ of ['32 s', '16 s', '8 s']) await ask(slow);
  const quickEnded = once(quick.resume(), 'close');
  const closed = graceful.close({ idleMs: 1000, deadlineMs: 60_000 });
  // Three times 8 s are not over.
  now += 23_999;
  await quickEnded;
  slow.write(get);
  t.regex(await text(slow), /connection: close[\s\S]*done/i);
  await closed;
});

test('a client whose pauses are longer than the deadline is not waited for', async (t) => {
  let now = 0;
  const server = createServer({ keepAliveTimeout: 0 }, (_, response) => void response.end('done'));
  const graceful = gracefulServer(server, { now: () => now });
  const socket = await dial(server);
  for (const pauseMs of [0, 20_001]) {
    now += pauseMs;
    socket.write(get);
    await once(socket, 'data');
  }
  const asking = await dial(server);
  asking.write('GET / HT');
  const ended = once(socket.resume(), 'close');
  const closed = graceful.close({ idleMs: 1000, deadlineMs: 60_000 });
  now += 1000;
  await ended;
  // The deadline is not over: this one goes on.
  asking.write('TP/1.1\r\nHost: localhost\r\n\r\n');
  t.regex(await text(asking), /connection: close[\s\S]*done/i);
  await closed;
});

test('a client that the kernel has connected already is answered when the port closes before this process accepted it', async (t) => {
  const server = createServer((_, response) => void response.end('done'));
  const graceful = gracefulServer(server);
  const first = await dial(server);
  const { remotePort = 0 } = first;
  first.destroy();
  const waiting = connect(remotePort, '127.0.0.1');
  const received = text(waiting);
  waiting.write(get);
  // It connects at the next tick; from there on this process does nothing else until the delay is over.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const closed = graceful.close({ delayMs: 1, deadlineMs: 60_000 });
  const start = performance.now();
  while (performance.now() - start < 50);
  t.regex(await received, /connection: close[\s\S]*done/i);
  await closed;
});

test('a connection that never finishes its handshake does not keep the server', async (t) => {
  const authority = await TestAuthority.create();
  const { pem, key } = authority.certificate('catalog.api');
  const server = createTlsServer({ cert: pem, key });
  const graceful = gracefulServer(server);
  const accepted = once(server, 'connection');
  const socket = await dial(server);
  await accepted;
  socket.resume();
  await graceful.close({ idleMs: 10, deadlineMs: 60_000 });
  t.pass();
});

test('a request behind a handshake that is over for its client, and not yet for the server, is answered', async (t) => {
  const authority = await TestAuthority.create();
  const { pem, key } = authority.certificate('catalog.api');
  const server = createTlsServer({ cert: pem, key });
  const graceful = gracefulServer(server);
  server.on('request', (_request, response) => void response.end('done'));
  const upstream = await dial(server);
  const silent = await dial(server);
  // Between the two, what the client says after its first message is held back.
  const held: Buffer[] = [];
  let isOpen = false;
  const between = createNetServer((downstream) => {
    downstream.once('data', (hello) => {
      upstream.write(hello);
      downstream.on('data', (chunk) => (isOpen ? upstream.write(chunk) : held.push(chunk)));
    });
    upstream.pipe(downstream);
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  t.teardown(() => between.close());
  const address = between.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const client = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(client, 'secureConnect');
  client.write(get);
  const cut = once(silent.resume(), 'close');
  const closed = graceful.close({ idleMs: 10, deadlineMs: 60_000 });
  // Who has said nothing is cut off: so was everybody who was to be.
  await cut;
  isOpen = true;
  for (const chunk of held) upstream.write(chunk);
  t.regex(await text(client), /connection: close[\s\S]*done/i);
  await closed;
});

test('an answer that takes too long is cut at the deadline', async (t) => {
  const { graceful, socket, arrived } = await start();
  socket.write(get);
  await arrived;
  const received = text(socket).catch(() => '');
  await graceful.close({ deadlineMs: 10 });
  t.is(await received, '');
});
