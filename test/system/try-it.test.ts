import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createPrincipalTokenSource } from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import { announcement } from '@signet/server/dev/announce';
import test from 'ava';
import { type DevWorld, repository, startDevWorld } from '#support/dev-world';
import { runProgram } from '#support/run-program';

/* First steps of a newcomer: every command that `npm start` prints, and the same requests in each consumer pattern. */

let world: DevWorld;

test.before(async () => {
  world = await startDevWorld();
});

test.after.always(async () => {
  await world?.remove();
});

/** One token an identity is enough for all tests. */
const tokens = new Map<string, Promise<string>>();

function tokenOf(identity: string): Promise<string> {
  const known = tokens.get(identity) ?? getToken(identity);
  tokens.set(identity, known);
  return known;
}

async function getToken(identity: string): Promise<string> {
  const { stdout, status } = await world.signet(
    'token',
    'get',
    '--data',
    world.folder,
    '--as',
    identity,
    '--domain',
    'catalog',
  );
  if (status !== 0) throw new Error(`no token for ${identity}`);
  return stdout.trim();
}

const bearer = (token: string) => ['-H', `Authorization: Bearer ${token}`];

test('signet token get --json prints the whole answer', async (t) => {
  const args = [
    '--data',
    world.folder,
    '--as',
    'media.studio',
    '--domain',
    'catalog',
    '--role',
    'editor',
    '--expires-in',
    '600',
    '--json',
  ];
  const { stdout } = await world.signet('token', 'get', ...args);
  const { access_token, ...rest } = JSON.parse(stdout);
  t.deepEqual(rest, { token_type: 'Bearer', expires_in: 600, scope: 'catalog:role.editor' });
  t.is(access_token.split('.').length, 3);
});

test('signet token get as nobody we know is a usage error', async (t) => {
  const { stderr, status } = await world.signet(
    'token',
    'get',
    '--data',
    world.folder,
    '--as',
    'media.nobody',
    '--domain',
    'catalog',
  );
  t.is(status, 2);
  t.regex(stderr, /^signet: unknown identity `media\.nobody`; available: .*media\.player.*\n$/);
});

test('signet token inspect of a forged token ends with 1', async (t) => {
  const token = await tokenOf('media.player');
  const forged = `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
  const { stdout, status } = await world.signet('token', 'inspect', '--data', world.folder, forged);
  t.is(status, 1);
  t.regex(stdout, /^signature +DOES NOT HOLD/m);
});

test('curl gets a token', async (t) => {
  const form = 'grant_type=client_credentials&scope=catalog:domain';
  const { status, body } = await world.curl('media.player', `${world.state.baseUrl}/oauth2/token`, '--data', form);
  const { token_type, expires_in, scope } = JSON.parse(body);
  t.deepEqual(
    { status, token_type, expires_in, scope },
    { status: 200, token_type: 'Bearer', expires_in: 7200, scope: 'catalog:role.reader' },
  );
});

for (const prefix of ['', '/local', '/central-cert']) {
  for (const [who, method, entity, expected] of [
    ['media.player', 'GET', 'movie', 200],
    ['media.player', 'GET', 'series', 200],
    ['media.player', 'PUT', 'movie', 403],
    ['media.studio', 'PUT', 'series', 200],
  ] as const) {
    test(`provider: ${who} ${method} ${prefix}/${entity} is ${expected}`, async (t) => {
      const token = prefix === '/central-cert' ? [] : bearer(await tokenOf(who));
      const body = method === 'PUT' ? ['-d', '{"titles":["Solaris"]}'] : [];
      const answer = await world.curl(
        who,
        '-X',
        method,
        ...body,
        ...token,
        `${world.state.providerUrl}${prefix}/${entity}`,
      );
      t.is(answer.status, expected);
      if (expected === 403) t.deepEqual(JSON.parse(answer.body), { code: 403, message: 'access is not granted' });
    });
  }
}

test('provider: the access token may come in Svc-Role-Auth', async (t) => {
  const token = await tokenOf('media.player');
  const answer = await world.curl(
    'media.player',
    '-H',
    `Svc-Role-Auth: Bearer ${token}`,
    `${world.state.providerUrl}/local/movie`,
  );
  t.is(answer.status, 200);
});

test('provider: a token is of no use on the connection of somebody else', async (t) => {
  const token = await tokenOf('media.player');
  for (const who of ['media.studio', undefined]) {
    const answer = await world.curl(who, ...bearer(token), `${world.state.providerUrl}/movie`);
    t.is(answer.status, 403);
  }
});

test('provider: nobody gets past any pattern without credentials', async (t) => {
  for (const path of ['/movie', '/local/movie', '/central-token/movie', '/central-cert/movie']) {
    t.is((await world.curl(undefined, `${world.state.providerUrl}${path}`)).status, 403, path);
  }
  t.is((await world.curl(undefined, `${world.state.providerUrl}/nothing`)).status, 404);
});

/** A principal token of a service, signed with a key file; what is not said is as it should be. */
function principalToken(service: string, change: { keyOf?: string; keyId?: string; lateBy?: number } = {}): string {
  const key = world.state.identities[change.keyOf ?? `media.${service}`]?.key ?? '';
  const { keyId = '0', lateBy = 0 } = change;
  const clock = { now: () => systemClock.now() + lateBy };
  const token = { domain: 'media', service, keyId, lifetimeSeconds: 600, clock };
  return createPrincipalTokenSource({ ...token, privateKey: readFileSync(key, 'utf8') }).get().token;
}

for (const [name, method, token, expected] of [
  ['a reader reads', 'GET', () => principalToken('player'), 200],
  ['a reader does not write', 'PUT', () => principalToken('player'), 403],
  ['an editor writes', 'PUT', () => principalToken('studio'), 200],
  ['a guest does not read', 'GET', () => principalToken('guest'), 403],
  ['an expired token', 'GET', () => principalToken('player', { lateBy: -3_600_000 }), 403],
  ['a token from the future', 'GET', () => principalToken('player', { lateBy: 3_600_000 }), 403],
  [
    'a token signed with the key of somebody else',
    'GET',
    () => principalToken('player', { keyOf: 'media.guest' }),
    403,
  ],
  ['a key id that is not registered', 'GET', () => principalToken('player', { keyId: '1' }), 403],
  ['a service that does not exist', 'GET', () => principalToken('nobody', { keyOf: 'media.player' }), 403],
  ['no token but text', 'GET', () => 'v=S1;d=media;n=player', 403],
] as const) {
  test(`provider: /central-token/series: ${name} is ${expected}`, async (t) => {
    const header = `Svc-Principal-Auth: ${token()}`;
    const url = `${world.state.providerUrl}/central-token/series`;
    const body = method === 'PUT' ? ['-d', '{}'] : [];
    t.is((await world.curl('media.guest', '-X', method, ...body, '-H', header, url)).status, expected);
  });
}

test('the sources and the state say the same', (t) => {
  t.deepEqual(JSON.parse(readFileSync(`${world.folder}/dev.json`, 'utf8')), world.state);
  t.deepEqual(Object.keys(world.state.identities).sort(), [
    'catalog.api',
    'catalog.updater',
    'media.guest',
    'media.player',
    'media.studio',
    'sys.auth.operator',
    'sys.auth.server',
    'user.ann',
    'user.bob',
  ]);
});

test('the sample services are instances that the token server gave their certificates', (t) => {
  const names = (service: string) =>
    new X509Certificate(readFileSync(world.state.identities[service]?.cert ?? '')).subjectAltName;
  t.is(
    names('media.guest'),
    'URI:spiffe://signet.local/ns/default/sa/media.guest, DNS:media-guest.guest.media.sys-auth-server.instanceid.signet.local',
  );
  t.is(
    names('catalog.api'),
    'URI:spiffe://signet.local/ns/default/sa/catalog.api, DNS:catalog-api.api.catalog.sys-auth-server.instanceid.signet.local, DNS:localhost',
  );
});

test('the walkthrough shows the block that a first `npm start` prints', (t) => {
  const data = `${repository}/.signet`;
  const player = { cert: `${data}/identities/media.player.cert.pem`, key: `${data}/identities/media.player.key.pem` };
  const state = {
    ...world.state,
    baseUrl: 'https://localhost:4443/v1',
    providerUrl: 'https://localhost:4444',
    caBundle: `${data}/ca/bundle.pem`,
    identities: { 'media.player': player },
  };
  const block = announcement(state, { data, working: repository, program: 'npx signet' }, true)
    .split('\n')
    .slice(4)
    .join('\n')
    .trim();
  t.true(readFileSync(`${repository}/docs/tutorial/try-it.md`, 'utf8').includes(block), block);
});

test('the block of commands that is printed works as it stands, in a shell in the repository', async (t) => {
  const block = announcement(world.state, { data: world.folder, working: repository, program: 'npx signet' }, true)
    .split('\n')
    .slice(3);
  const script = block
    .map((line) => (line.startsWith('#') || line === '' ? line : `${line}; echo "exit $?"`))
    .join('\n');
  const { stdout, stderr } = await runProgram('bash', [], { cwd: repository, input: script });
  const jwt = '[\\w-]+\\.[\\w-]+\\.[\\w-]+';
  const expected = [
    `${jwt}\nexit 0`,
    '\\{"access_token":.*\\}(\\n)?exit 0',
    'exit 0',
    '(.*\\n)+signature +holds .*\nexit 0',
    '\\{"titles":.*\\}\\n?200\nexit 0',
    '\\{"code":403,"message":"access is not granted"\\}\\n?403\nexit 0',
    'exit 1',
    'granted\nexit 0',
    'not granted\nexit 1',
    'outcome +registered\nnotAfter .*\nnextAt .*\nexit 0',
    '\\{.*"path":"/attest/instance","instanceId":"media-player".*\n\\{.*"instanceId":"media-player-2".*\nexit 0',
    '(.*\\n)+exit 0',
    'catalog: unchanged.*\n(.*\\n)*exit 0',
  ];
  t.regex(stdout, new RegExp(`^${expected.join('\\n')}\\n$`));
  t.regex(stderr, /signet: the server answered 403/);
});
