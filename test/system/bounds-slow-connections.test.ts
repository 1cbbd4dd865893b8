import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import test from 'ava';
import { assertWithin, costOf, costsAreKnown } from '#support/cost';
import { install, serve } from '#support/signet-program';
import { until } from '#support/until';

/*
 * Slow clients that do not read, read a byte at a time, and write a byte at a time: each loses its connection, and no other caller is affected.
 */

const rules = Array.from(
  { length: 12_000 },
  (_, index) => ['ALLOW', 'reader', 'read', `r${index}.${'x'.repeat(500)}`] as const,
);
const request = 'GET /v1/domain/large/policy/signed HTTP/1.1\r\nHost: localhost\r\n\r\n';
const readers = 40;

test('clients that do not read hold little and not for long; others are served', async (t) => {
  t.timeout(180_000);
  const installation = await install(t, {
    domains: [
      { name: 'large', roles: { reader: ['media.player'] }, policies: { data: rules } },
      { name: 'media', services: { player: {} } },
    ],
    more: 'timeouts: { requestMs: 4000, keepAliveMs: 1000, stallMs: 2000, answerMs: 6000 }\nlog: { requests: false }\n',
  });
  const serving = await serve(t, installation);
  const who = await installation.pki.identity('media.player');
  const player = serving.as(who);
  const size = Buffer.byteLength((await player('/domain/large/policy/signed')).text);
  t.true(size > 8_000_000, String(size));

  const { hostname: host, port } = new URL(serving.baseUrl);
  const open = async (): Promise<TLSSocket> => {
    const { certificate: cert, key } = who;
    const socket = connect({ host, port: Number(port), cert, key, ca: installation.pki.bundle });
    t.teardown(() => void socket.destroy());
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    return socket;
  };
  /** Until the server has closed it: a socket that is not read would not tell. */
  const closedByServer = (sockets: readonly TLSSocket[]) =>
    until('the server has closed them', () =>
      sockets.every((socket) => {
        if (!socket.destroyed) socket.write('\r\n');
        return socket.destroyed;
      }),
    );

  // As many that read all of it: what the process keeps of its own accord, it keeps then.
  for (let reader = 0; reader < readers; reader += 1) await player('/domain/large/policy/signed');
  const before = costsAreKnown ? costOf(serving.pid).peakMiB : 0;
  const silent = await Promise.all(Array.from({ length: readers }, open));
  for (const socket of silent) socket.pause().write(request);
  t.is((await player('/oauth2/keys')).status, 200);
  const closed = () => count(serving.errors(), 'answer not read') + count(serving.errors(), 'answer read too slowly');
  await until('connections that read nothing are closed', () => closed() >= readers, 60_000);
  if (costsAreKnown) {
    const grown = costOf(serving.pid).peakMiB - before;
    // A slice for each; all of their answers are 400 MB.
    assertWithin(t, `${readers} readers of ${Math.round(size / 1e6)} MB that do not read`, grown, 100, 'MiB');
  } else t.log('memory is known on Linux only');
  await closedByServer(silent);

  // It takes a little each time, so it never stalls.
  const slow = await open();
  slow.pause().write(request);
  const timer = setInterval(() => slow.read(8192), 20);
  t.teardown(() => clearInterval(timer));
  await until('a slow reader is closed', () => closed() > readers, 60_000);

  // A line end between two requests ends the timeout of Node for idle connections.
  const idle = await open();
  idle.on('data', () => undefined);
  idle.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(idle, 'data');
  idle.write('\r\n');
  await until('an idle connection is closed', () => idle.destroyed || idle.readableEnded, 60_000);

  // A byte now and then, of the headers and of the body.
  for (const begun of [
    'GET /healthz HTTP/1.1\r\nX: ',
    'POST /v1/oauth2/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n',
  ]) {
    const writer = await open();
    writer.on('data', () => undefined);
    writer.write(begun);
    const drip = setInterval(() => writer.writable && writer.write('a'), 100);
    await until('an idle writer is closed', () => writer.destroyed || writer.readableEnded, 60_000);
    clearInterval(drip);
  }
  t.is((await player('/oauth2/keys')).status, 200);
});

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}
