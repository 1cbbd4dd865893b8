import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { answer, type Respond } from './support/tls-server.ts';
import { clientWorld, failure } from './support/world.ts';

const granted: Respond = (_, response) => answer(response, 200, { granted: true });
const ask = { action: 'read', resource: 'catalog:movie' };

/** A proxy that tunnels for who knows the password. */
async function startProxy(t: ExecutionContext) {
  const tunnels: string[] = [];
  const sockets = new Set<Socket | Duplex>();
  const expected = `Basic ${Buffer.from('user:secret').toString('base64')}`;
  const server = createServer();
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (request.headers['proxy-authorization'] !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    tunnels.push(request.url ?? '');
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    sockets.add(through);
    through.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { tunnels, url: (userInfo: string) => `http://${userInfo}@127.0.0.1:${port}` };
}

test('goes through a proxy, with mutual TLS end to end', async (t) => {
  const { server, connect: connectClient } = await clientWorld(t, granted);
  const proxy = await startProxy(t);
  const client = connectClient({ proxy: proxy.url('user:secret') });
  t.true(await client.access.check(ask));
  t.deepEqual(proxy.tunnels, [`localhost:${server.port}`]);
  t.is(server.requests[0]?.caller, 'media.player');
});

test('hosts of noProxy are reached directly', async (t) => {
  const { connect: connectClient } = await clientWorld(t, granted);
  const proxy = await startProxy(t);
  const client = connectClient({ proxy: proxy.url('user:secret'), noProxy: 'example.com,localhost' });
  t.true(await client.access.check(ask));
  t.deepEqual(proxy.tunnels, []);
});

test('a proxy that refuses is unreachable, and its password is not told', async (t) => {
  const { server, connect: connectClient } = await clientWorld(t, granted);
  const proxy = await startProxy(t);
  const error = await failure(connectClient({ proxy: proxy.url('user:wrong-secret') }).access.check(ask));
  t.is(error['code'], 'unreachable');
  t.false(JSON.stringify(error).includes('wrong-secret'));
  t.is(server.requests.length, 0);
});
