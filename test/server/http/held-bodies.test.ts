import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { createPki } from '#support/pki';
import { principalToken } from '#support/principal-token';
import { ecPair, requestPem } from '#support/requests';
import { revoke } from '#support/revoke';
import { type CallerOptions, startServer, type TestServer } from '#support/start-server';

/*
 * Callers are authenticated before the body is read, which a client may delay. A credential that expires meanwhile grants nothing: each of these
 * tests sends the head of a request, ends something, and then sends the body.
 */

const domains = [
  {
    name: 'catalog',
    // By a pattern: it goes on to name a service that was deleted.
    roles: { reader: ['media.*'], admin: ['media.*'] },
    policies: { p: [['ALLOW', 'reader', 'read', 'movie']] },
  },
  { name: 'media', services: { player: {}, guest: {} } },
] as const;

async function world(t: ExecutionContext) {
  const clock = new FakeClock(systemClock.now());
  const server = await startServer(t, { domains, clock });
  return { clock, server, identity: await server.pki.identity('media.player', 1) };
}

type World = Awaited<ReturnType<typeof world>>;

interface Held {
  readonly target: string;
  readonly method?: 'POST' | 'PUT';
  readonly type?: string;
  /** A principal token. */
  readonly token?: string;
  readonly isChunked?: boolean;
  readonly body: string;
}

/** Sends all of a request but its body, and the rest when `meanwhile` is done. Answers the status and the message of the answer. */
async function hold(
  t: ExecutionContext,
  { baseUrl, pki }: Pick<TestServer, 'baseUrl' | 'pki'>,
  { certificate: cert, key }: CallerOptions,
  { target, method = 'POST', type = 'application/json', token, isChunked, body }: Held,
  meanwhile: () => void | Promise<void>,
): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname: host, port, pathname } = new URL(baseUrl);
  const socket = connect({ host, port: Number(port), servername: 'localhost', ca: pki.bundle, cert, key });
  t.teardown(() => socket.destroy());
  await once(socket, 'secureConnect');
  const path = target.startsWith('^') ? target.slice(1) : pathname + target;
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
  const fields = `Host: localhost\r\nContent-Type: ${type}\r\n${length}`;
  const credential = token === undefined ? '' : `\r\nAthenz-Principal-Auth: ${token}`;
  const ends = 'Expect: 100-continue\r\nConnection: close';
  socket.write(`${method} ${path} HTTP/1.1\r\n${fields}${credential}\r\n${ends}\r\n\r\n`);
  const [proceed] = await once(socket, 'data');
  t.is(String(proceed), 'HTTP/1.1 100 Continue\r\n\r\n');
  await meanwhile();
  socket.write(isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return { status: Number(text.split(' ')[1]), text };
}

const accessToken = {
  target: '/oauth2/token',
  type: 'application/x-www-form-urlencoded',
  body: 'grant_type=client_credentials&scope=catalog:role.reader',
} as const;

const operations: Readonly<Record<string, (t: ExecutionContext) => Promise<Held> | Held>> = {
  'an access token': () => accessToken,
  'an access token for a body in chunks': () => ({ ...accessToken, isChunked: true }),
  'many access checks': () => ({
    target: '/access-checks',
    body: JSON.stringify({ questions: [{ action: 'read', resource: 'catalog:movie' }] }),
  }),
  'a change': () => ({
    target: '^/management/v1/domains/catalog/roles/reader/members/media.guest',
    method: 'PUT',
    body: '{}',
  }),
  'a role certificate': async () => ({
    target: '/rolecert',
    body: JSON.stringify({ csr: await requestPem(ecPair(), { commonNames: ['catalog:role.reader'] }) }),
  }),
};

const endings: Readonly<Record<string, (world: World) => void | Promise<void>>> = {
  'its certificate is revoked': async ({ server: { store, running }, identity, clock }) => {
    const at = epochSeconds(clock);
    const serial = new X509Certificate(identity.certificate).serialNumber.toLowerCase();
    const holder = parsePrincipalName('media.player');
    const row = { serial, issuer: 'pki', kind: 'service', subject: holder, holder, notBefore: 0 } as const;
    await store.certificates.intend({ ...row, notAfter: at + 86_400 }, at);
    await revoke(store, serial, { reason: 'key-compromise', at, by: 'operator' });
    await running.refresh();
  },
  'its service is deleted': ({ server }) => server.save({ name: 'media', services: { guest: {} } }),
  'its domain is disabled': ({ server }) => server.save({ ...domains[1], enabled: false }),
  'its certificate expires': ({ clock, identity }) => {
    clock.set(new X509Certificate(identity.certificate).validToDate.getTime() + 1);
  },
  'its authority is withdrawn': async ({ server: { folder, running } }) => {
    const other = await createPki();
    const file = join(folder, 'bundle.pem');
    writeFileSync(`${file}.new`, other.bundle);
    renameSync(`${file}.new`, file);
    running.reload();
  },
};

for (const [what, request] of Object.entries(operations)) {
  test(`${what}: given when nothing has ended meanwhile`, async (t) => {
    const { server, identity } = await world(t);
    const { status, text } = await hold(t, server, identity, await request(t), () => undefined);
    t.true(status === 200 || status === 201, text);
  });
  for (const [ending, end] of Object.entries(endings)) {
    test(`${what}: not given when ${ending} before the body comes`, async (t) => {
      const made = await world(t);
      const { status, text } = await hold(t, made.server, made.identity, await request(t), () => end(made));
      t.is(status, 401, text);
    });
  }
}

test('an access token for a principal token: not given when its key is withdrawn before the body comes', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const { privateKey: key, publicKey } = ecPair();
  const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
  const known = [domains[0], { name: 'media', services: { player: { 0: pem } } }] as const;
  const server = await startServer(t, { domains: known, clock, options: { profile: 'athenz' } });
  const request = { ...accessToken, token: principalToken({ now: clock.now(), key }) };
  const given = await hold(t, server, {}, request, () => undefined);
  t.is(given.status, 200, given.text);
  const withdraw = () => server.save({ name: 'media', services: { player: {} } });
  const refused = await hold(t, server, {}, request, withdraw);
  t.is(refused.status, 401, refused.text);
});
