import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { createTlsServer } from '@signet/example-provider/tls-server';
import { secureClientOptions, secureServerOptions } from '@signet/policy-engine/http';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { startServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { internals } from '../limits/row.ts';
import { makePki, type TestPki } from './support/pki.ts';
import { answer } from './support/tls-server.ts';
import { clientWorld, failure } from './support/world.ts';

/* RFC 9325: what we speak and serve is TLS 1.2 and 1.3 with authenticated encryption and forward secrecy, whatever the other side offers. */

const { fetchWithTls } = await internals<{
  fetchWithTls(tls: object): (url: string, init: object) => Promise<{ status: number }>;
}>('policy-engine/src/loader/tls-fetch.ts');
const { postJson } = await internals<{
  postJson(peer: object, path: readonly string[], body: unknown): Promise<unknown>;
}>('client/src/identity/post-json.ts');

const tls12 = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
const peers: readonly (readonly [note: string, options: SecureContextOptions, isSpoken: boolean])[] = [
  ['TLS 1.3', { minVersion: 'TLSv1.3' }, true],
  ['TLS 1.2 with AES-GCM', { ...tls12, ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' }, true],
  ['TLS 1.2 with ChaCha20', { ...tls12, ciphers: 'ECDHE-ECDSA-CHACHA20-POLY1305' }, true],
  ['TLS 1.2 with CBC', { ...tls12, ciphers: 'ECDHE-ECDSA-AES128-SHA256' }, false],
  ['TLS 1.2 with CBC and SHA-1', { ...tls12, ciphers: 'ECDHE-ECDSA-AES256-SHA' }, false],
  ['TLS 1.2 with CCM', { ...tls12, ciphers: 'ECDHE-ECDSA-AES128-CCM8:@SECLEVEL=0' }, false],
  ['TLS 1.2 without a certificate', { ...tls12, ciphers: 'AECDH-AES128-SHA:@SECLEVEL=0' }, false],
  ['TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }, false],
];

async function listenWith(t: ExecutionContext, pki: TestPki, options: SecureContextOptions): Promise<number> {
  const { cert, key } = await pki.issue('sys.auth.server', ['localhost']);
  const server = createServer({ ...options, cert, key, ca: pki.ca }, (_, response) => {
    answer(response, 200, { granted: true });
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

for (const [note, options, isSpoken] of peers) {
  test(`client, identity agent and engine with a server of ${note}`, async (t) => {
    const { pki, connect: connectClient } = await clientWorld(t, () => undefined);
    const port = await listenWith(t, pki, options);
    const baseUrl = `https://localhost:${port}/v1`;
    const check = connectClient({ baseUrl }).access.check({ action: 'read', resource: 'catalog:movie' });
    if (isSpoken) t.truthy(await check);
    else t.is((await failure(check))['code'], 'tls');
    const posted = postJson(
      { baseUrl, caBundle: pki.ca, isServer: () => undefined, timeoutMs: 20_000 },
      ['instance'],
      {},
    );
    if (isSpoken) t.truthy(await posted);
    else await t.throwsAsync(posted);
    const fetched = fetchWithTls({ ca: pki.ca })(`${baseUrl}/oauth2/keys`, {});
    if (isSpoken) t.is((await fetched).status, 200);
    else await t.throwsAsync(fetched);
  });
}

/** The suite that both agreed on; undefined where there is none. */
async function suiteWith(port: number, options: SecureContextOptions): Promise<string | undefined> {
  const socket: TLSSocket = connect({ ...options, port, host: '127.0.0.1', rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    return socket.getCipher().name;
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}

test('token server and example provider with clients of each kind', async (t) => {
  const server = await startServer(t);
  const pki = await makePki(temporaryFolder(t));
  const { cert, key } = await pki.issue('catalog.api', ['localhost']);
  const provider = createTlsServer(
    { current: { cert, key, ca: pki.ca } } as unknown as Parameters<typeof createTlsServer>[0],
    new Koa(),
  );
  provider.on('tlsClientError', () => undefined);
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  t.teardown(() => void provider.close());
  const address = provider.address();
  const ports = [Number(new URL(server.baseUrl).port), typeof address === 'object' ? (address?.port ?? 0) : 0];
  for (const [note, options, isSpoken] of peers) {
    for (const port of ports) t.is((await suiteWith(port, options)) !== undefined, isSpoken, `${note} ${port}`);
  }
});

test('both sets of options name the same versions and suites', (t) => {
  const { minVersion, ciphers } = secureServerOptions;
  t.deepEqual({ minVersion, ciphers, rejectUnauthorized: true }, { ...secureClientOptions });
  for (const suite of ciphers.split(':')) t.regex(suite, /^TLS_|^ECDHE-.*(?:GCM|POLY1305)/);
});
