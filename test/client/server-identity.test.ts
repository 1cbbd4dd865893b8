import { createServer } from 'node:https';
import type { PeerCertificate } from 'node:tls';
import { createClient, openIdentityAgent, SignetClientError } from '@signet/client';
import { checkServerIs } from '@signet/policy-engine/server-identity';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';
import { makePki } from './support/pki.ts';
import { answer, type Respond, startTlsServer } from './support/tls-server.ts';
import { type ClientWorld, clientWorld, failure } from './support/world.ts';

/* Every service gets certificates of the authority that the server has its own from, for the hosts that it runs on. */

const granted: Respond = (_, response) => answer(response, 200, { granted: true });
const ask = { action: 'read', resource: 'catalog:movie' };
const id = (name: string, trustDomain = 'signet.test') => `spiffe://${trustDomain}/ns/default/sa/${name}`;

interface Case {
  readonly note: string;
  readonly uris: readonly string[];
  readonly names?: readonly string[];
  readonly serverIdentity?: string;
  readonly isTaken: boolean;
}

const server = id('sys.auth.server');
const cases: readonly Case[] = [
  { note: 'the server', uris: [server], isTaken: true },
  { note: 'the server of another trust domain', uris: [id('sys.auth.server', 'other.test')], isTaken: true },
  { note: 'an instance of a service', uris: [id('catalog.api')], isTaken: false },
  { note: 'a service whose name begins as the server', uris: [id('sys.auth.server.x')], isTaken: false },
  { note: 'a service whose name ends as the server', uris: [id('x.sys.auth.server')], isTaken: false },
  { note: 'another path', uris: ['spiffe://signet.test/ns/other/sa/sys.auth.server'], isTaken: false },
  { note: 'another case', uris: [id('Sys.auth.server')], isTaken: false },
  { note: 'another scheme', uris: ['https://signet.test/ns/default/sa/sys.auth.server'], isTaken: false },
  { note: 'a query behind it', uris: [`${server}?x`], isTaken: false },
  { note: 'the server and somebody else', uris: [server, id('catalog.api')], isTaken: false },
  { note: 'no id at all', uris: [], isTaken: false },
  { note: 'another host', uris: [server], names: ['elsewhere.example'], isTaken: false },
  { note: 'another principal, as configured', uris: [id('zts.server')], serverIdentity: 'ZTS.server', isTaken: true },
  { note: 'the usual one where another is configured', uris: [server], serverIdentity: 'zts.server', isTaken: false },
  { note: 'a whole id, as configured', uris: [server], serverIdentity: server, isTaken: true },
  {
    note: 'another trust domain than the configured id',
    uris: [id('sys.auth.server', 'other.test')],
    serverIdentity: server,
    isTaken: false,
  },
  { note: 'a public certificate, as configured', uris: [], serverIdentity: 'host-name', isTaken: true },
  {
    note: 'a public certificate of another host',
    uris: [],
    names: ['elsewhere.example'],
    serverIdentity: 'host-name',
    isTaken: false,
  },
];

/** A world whose server shows this certificate. */
async function worldOf(
  t: ExecutionContext,
  one: Pick<Case, 'uris' | 'names'>,
): Promise<ClientWorld & { readonly url: string }> {
  const world = await clientWorld(t, granted);
  const identity = await world.pki.issue('sys.auth.server', one.names ?? ['localhost'], one.uris);
  const { baseUrl } = await startTlsServer(t, { identity, ca: world.pki.ca, respond: granted });
  return { ...world, url: baseUrl };
}

for (const { note, serverIdentity, isTaken, ...shown } of cases) {
  test(`the certificate of a server: ${note}`, async (t) => {
    const world = await worldOf(t, shown);
    const options = { baseUrl: world.url, ...(serverIdentity !== undefined && { serverIdentity }) };
    const client = world.connect(options);
    if (isTaken) t.true(await client.access.check(ask));
    else t.is((await failure(client.access.check(ask)))['code'], 'tls');
    const agent = openIdentityAgent({
      ...options,
      caBundle: world.pki.caFile,
      folder: temporaryFolder(t),
      instance: { provider: 'p.q', domain: 'media', service: 'player', instanceId: 'i', trustDomain: 'signet.test' },
      attestation: async () => 'secret',
    });
    const outcome = await agent.step();
    const code = outcome.kind === 'failed' ? outcome.error.code : outcome.kind;
    // it has no certificate yet, which this server does not take: but it got past its own check
    t.is(code, isTaken ? 'unreachable' : 'tls');
  });
}

test('a name that reads like several is none', (t) => {
  const check = checkServerIs();
  const named = (subjectaltname: string) =>
    check('localhost', { subjectaltname, subject: {} } as unknown as PeerCertificate)?.message ?? 'taken';
  t.is(named(`DNS:localhost, URI:${server}`), 'taken');
  t.regex(named(`DNS:localhost, DNS:"x, URI:${server}, DNS:y"`), /has no SPIFFE id/);
  t.regex(named(`DNS:localhost, URI:${server}, DNS:"x, DNS:y"`), /has no SPIFFE id/);
  t.regex(named('DNS:localhost'), /has no SPIFFE id/);
});

test('the error says who the server is and what to set', async (t) => {
  const world = await worldOf(t, { uris: [id('catalog.api')] });
  t.deepEqual(await failure(world.connect({ baseUrl: world.url }).access.check(ask)), {
    code: 'tls',
    message:
      'the certificate of `localhost` is of `spiffe://signet.test/ns/default/sa/catalog.api`, not of the token server ' +
      '`sys.auth.server` (`serverIdentity`)',
  });
});

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a session that a wrong server gave does not get past the check at the next try: ${maxVersion}`, async (t) => {
    const world = await clientWorld(t, granted);
    const { cert, key } = await world.pki.issue('catalog.api', ['localhost']);
    let [requests, handshakes] = [0, 0];
    const impostor = createServer({ cert, key, maxVersion }, (_, response) => {
      requests += 1;
      answer(response, 200, { granted: true });
    });
    impostor.on('secureConnection', () => {
      handshakes += 1;
    });
    impostor.on('tlsClientError', () => {
      handshakes += 1;
    });
    t.teardown(() => impostor.close());
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const address = impostor.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const client = world.connect({ baseUrl: `https://localhost:${port}/v1` });
    for (let round = 1; round <= 4; round += 1) {
      t.is((await failure(client.access.check(ask)))['code'], 'tls');
      await until('the impostor has seen the connection', () => handshakes >= round);
    }
    t.is(requests, 0);
  });
}

test('protected services are known by their host names, though they share the host with the server', async (t) => {
  const world = await clientWorld(t, (request, response) =>
    request.url === '/v1/oauth2/token'
      ? answer(response, 200, { token_type: 'Bearer', access_token: 'a.b.c', expires_in: 3600 })
      : granted(request, response),
  );
  const identity = await world.pki.issue('catalog.api', ['localhost']);
  const service = await startTlsServer(t, { identity, ca: world.pki.ca, respond: granted });
  const origin = `https://localhost:${service.port}`;
  const client = world.connect({ targets: { [origin]: { domain: 'catalog' } } });
  t.is((await client.fetch(`${origin}/movie`)).status, 200);
});

for (const serverIdentity of [
  '',
  'server',
  'host name',
  'sys.auth.server ',
  'catalog:role.x',
  'spiffe://',
  'https://x/y',
]) {
  test(`refuses to be made with the server identity \`${serverIdentity}\``, async (t) => {
    const pki = await makePki(temporaryFolder(t));
    const { cert, key } = await pki.issue('media.player');
    const options = { baseUrl: 'https://localhost/v1', certificate: cert, key, caBundle: pki.ca, serverIdentity };
    t.throws(() => createClient(options), { instanceOf: SignetClientError, code: 'invalid-argument' });
    t.throws(() => checkServerIs(serverIdentity), { code: 'invalid-options' });
  });
}
