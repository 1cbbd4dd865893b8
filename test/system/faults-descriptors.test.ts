import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { assertWithin } from '#support/cost';
import { install, type Serving, serve } from '#support/signet-program';
import { until } from '#support/until';

/* More connections than file descriptors, and connections that never get to a request. */

const domains = [
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {} } },
];

interface Line {
  readonly msg: string;
  readonly connections?: Readonly<Record<string, number>>;
}

function failuresSaid(serving: Serving): readonly Line[] {
  const lines = serving
    .errors()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return lines.map((line): Line => JSON.parse(line)).filter(({ msg }) => msg === 'connections failed or were refused');
}

function open(serving: Serving): Socket {
  const socket = connect(Number(new URL(serving.baseUrl).port), '127.0.0.1');
  socket.on('error', () => undefined);
  return socket;
}

test('without a file descriptor left the server says so once, goes on, and recovers', async (t) => {
  t.timeout(120_000);
  const installation = await install(t, { domains });
  const serving = await serve(t, installation, { limits: 'ulimit -n 128' });
  const call = serving.as(await installation.pki.identity('media.player'));
  const check = '/access/read?resource=catalog:movie';
  t.is((await call(check)).status, 200);
  const sockets = Array.from({ length: 400 }, () => open(serving));
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()));
  await until('it is said', () =>
    failuresSaid(serving).some(({ connections }) => connections?.['accept: no file descriptor left']),
  );
  t.is((await call(check)).status, 200, 'a kept connection goes on');
  for (const socket of sockets) socket.destroy();
  await until('a new connection is answered', async () => {
    try {
      return (await serving.as(await installation.pki.identity('media.player'))(check)).status === 200;
    } catch {
      return false;
    }
  });
  assertWithin(t, 'lines about 400 connections', failuresSaid(serving).length, 2);
  t.is(await serving.end(), 0);
});

test('a flood of handshakes that fail is one line at once and one a minute', async (t) => {
  t.timeout(120_000);
  const installation = await install(t, { domains });
  const serving = await serve(t, installation);
  const flood = async () => {
    const socket = open(serving);
    socket.end('this is not a handshake\n');
    socket.resume();
    await once(socket, 'close');
  };
  for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 50 }, flood));
  t.is((await serving.as(await installation.pki.identity('media.player'))('^/readyz')).status, 200);
  t.is((await serving.as()('/oauth2/keys')).status, 401);
  const kinds = Object.keys(failuresSaid(serving)[0]?.connections ?? {});
  t.regex(kinds.join(), /^handshake: /);
  assertWithin(t, 'lines about 500 connections, while it serves', failuresSaid(serving).length, 1);
  // The rest is said when it stops, at the latest.
  t.is(await serving.end(), 0);
  const total = failuresSaid(serving)
    .flatMap(({ connections = {} }) => Object.entries(connections))
    .filter(([kind]) => kind.startsWith('handshake: '))
    .reduce((sum, [, count]) => sum + count, 0);
  t.is(total, 500);
});
