import { copyFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { keepManagement } from '@signet/server/cli/manage/management-client';
import test from 'ava';
import { managementWorld } from '#support/management-world';

/* A console asks the management API over one connection, with the certificate files as they are. */

const world = await managementWorld();
const { server } = world;
const at = (name: string) => join(server.folder, name);
for (const principal of ['sys.auth.operator', 'media.guest']) {
  const { certificate, key } = await server.pki.identity(principal);
  writeFileSync(at(`${principal}.pem`), certificate);
  writeFileSync(at(`${principal}.key`), key ?? '');
}

/** A way to the server that counts connections. */
const { hostname, port } = new URL(server.baseUrl);
let connections = 0;
const counter = createServer((socket) => {
  connections += 1;
  const onward = connect(Number(port), hostname);
  for (const each of [socket, onward]) each.on('error', () => [socket, onward].map((one) => one.destroy()));
  socket.pipe(onward).pipe(socket);
});
await new Promise<void>((listening) => counter.listen(0, '127.0.0.1', listening));
test.after.always(async () => {
  counter.close();
  await world.end();
});

const take = (principal: string) => {
  copyFileSync(at(`${principal}.pem`), at('console.pem'));
  copyFileSync(at(`${principal}.key`), at('console.key'));
};

test('requests use one connection until the certificate is another one', async (t) => {
  take('sys.auth.operator');
  const options = {
    data: '',
    cert: at('console.pem'),
    key: at('console.key'),
    ca: at('bundle.pem'),
    url: `https://127.0.0.1:${(counter.address() as AddressInfo).port}/v1`,
  };
  using management = keepManagement(options);
  const ask = () => management.call({ method: 'GET', path: ['domains'] });
  const answers = [await ask(), await ask(), ...(await Promise.all([ask(), ask()]))];
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.is(connections, 1);
  t.deepEqual(answers[0]?.body, { items: ['media', 'sys.auth'] });
  take('media.guest');
  t.deepEqual((await ask()).body, { items: [] });
  t.is(connections, 2);
  t.like(await management.call({ method: 'GET', path: ['domains', 'media'] }), { status: 403, body: { code: 403 } });
});

test('another server than the expected one gets no request', async (t) => {
  const files = { cert: at('sys.auth.operator.pem'), key: at('sys.auth.operator.key'), ca: at('bundle.pem') };
  using management = keepManagement({ data: '', ...files, url: server.baseUrl, serverIdentity: 'media.player' });
  await t.throwsAsync(management.call({ method: 'GET', path: ['domains'] }), { message: /media\.player/ });
});
