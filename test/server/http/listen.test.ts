import { createServer, type Server } from 'node:net';
import { listen } from '@signet/server/http/listen';
import test from 'ava';

/* A port that cannot be had is said with the option, the place and what to do. */

/** A server on which listening fails so. */
function failing(code: string): Server {
  const server = createServer();
  server.listen = () => {
    server.emit('error', Object.assign(new Error(`listen ${code}`), { code }));
    return server;
  };
  return server;
}

const at = { host: '127.0.0.1', port: 4443, reusePort: false };
const place = 'listen.port: port 4443 of `127.0.0.1`';

for (const [code, option, message] of [
  [
    'EADDRINUSE',
    'listen.port',
    `${place} is in use: stop the other program (\`ss -ltnp\` shows it), or use another port (EADDRINUSE)`,
  ],
  [
    'EACCES',
    'listen.port',
    `${place} requires privileges: use a port from 1024 on, or grant the program CAP_NET_BIND_SERVICE (EACCES)`,
  ],
  [
    'EADDRNOTAVAIL',
    'listen.port',
    `${place} is not an address of this machine: use one of its addresses, or 0.0.0.0 or \`::\` for all of them (EADDRNOTAVAIL)`,
  ],
  ['ENOBUFS', 'listen.port', 'listen ENOBUFS'],
  ['EADDRINUSE', undefined, 'listen EADDRINUSE'],
] as const) {
  test(`${code} ${option ?? 'without an option'}`, async (t) => {
    await t.throwsAsync(listen(failing(code), { ...at, ...(option !== undefined && { option }) }), { code, message });
  });
}

test('a port that another server has is said, with its code', async (t) => {
  const first = createServer();
  const port = await listen(first, { ...at, port: 0 });
  t.teardown(() => first.close());
  await t.throwsAsync(listen(createServer(), { ...at, port, option: 'crl.listen.port' }), {
    code: 'EADDRINUSE',
    message: new RegExp(`^crl\\.listen\\.port: port ${port} of \`127\\.0\\.0\\.1\` is in use: `),
  });
});
