import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { isNoName } from '#support/invalid-name';
import { principalToken as signedToken } from '#support/principal-token';
import { type Answer, caller, startServer, wholeFile } from '#support/start-server';

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: KeyObject) => key.export({ format: 'pem', type: 'spki' }).toString();
const domains: readonly DomainSketch[] = [
  {
    name: 'catalog',
    roles: { reader: ['media.player', 'user.joe'], auditor: ['media.guest'] },
    services: { api: {} },
    policies: {
      readers: [
        ['ALLOW', 'reader', 'read', 'movie'],
        ['ALLOW', 'reader', 'read', 'shelf/*'],
        ['ALLOW', 'auditor', 'access_check', 'principal.media.player'],
      ],
    },
  },
  {
    name: 'media',
    services: {
      player: { 0: pem(ec.publicKey), R1: pem(rsa.publicKey) },
      guest: {},
      gone: { enabled: false, publicKeys: { 0: pem(ec.publicKey) } },
    },
  },
  { name: 'dark', enabled: false },
];
const server = await startServer(file, { clock, domains });
const strict = await startServer(file, {
  clock,
  domains,
  pki: server.pki,
  options: { 'accessChecks.restricted': true },
});
const guest = await server.pki.identity('media.guest');
const asGuest = caller(file, server, guest);
const asPlayer = caller(file, server, await server.pki.identity('media.player'));
const asRole = caller(file, server, await server.pki.odd({ subject: 'CN=catalog:role.reader' }));
const nobody = caller(file, server);
test.after.always(() => file.end());

const yes = { granted: true };
const no = { granted: false };
const refusal = (code: number, message: string) => ({ code, message });

const cases: readonly (readonly [path: string, body: object])[] = [
  ['/access/read?resource=catalog:movie&principal=media.player', yes],
  ['/access/READ?resource=Catalog:MOVIE&principal=Media.Player', yes],
  ['/access/read/catalog:movie?principal=media.player', yes],
  ['/access/read?resource=catalog%3Amovie&principal=joe', yes],
  ['/access/read?resource=catalog:shelf/a/b&principal=media.player', yes],
  ['/access/read?resource=catalog:movie', no],
  ['/access/read?resource=catalog:movie&principal=media.nobody', no],
  ['/access/write?resource=catalog:movie&principal=media.player', no],
  ['/access/read?resource=catalog:movie%00&principal=media.player', no],
  ['/access/read', refusal(400, 'resource is missing')],
  ['/access/read?resource=', refusal(400, 'resource is missing')],
  [`/access/read?principal=joe&resource=catalog:${'m'.repeat(4088)}`, no],
  [
    `/access/read?principal=joe&resource=catalog:${'m'.repeat(4089)}`,
    refusal(400, 'resource must have at most 4096 characters'),
  ],
  ['/access/read?resource=movie', refusal(400, 'resource must be `domain:entity`')],
  ['/access/read?resource=:movie', refusal(400, `domain of the resource ${isNoName('DomainName')}`)],
  ['/access/read?resource=catalog:movie&resource=x', refusal(400, 'a parameter is repeated in the query')],
  ['/access/read?resource=%zz', refusal(400, 'the query is not form-encoded')],
  ['/access/read!?resource=catalog:movie', refusal(400, `action ${isNoName('ActionName')}`)],
  ['/access/re%2Fad?resource=catalog:movie', refusal(400, `action ${isNoName('ActionName')}`)],
  ['/access/re%252Fad?resource=catalog:movie', refusal(400, `action ${isNoName('ActionName')}`)],
  ['/access/read?resource=catalog:movie&principal=a..b', refusal(400, `principal ${isNoName('PrincipalName')}`)],
  [
    '/access/read?resource=catalog:movie&principal=media:group.x',
    refusal(400, 'principal must be a service or a user'),
  ],
  [`/access/read?resource=catalog:movie&principal=joe&thumbprint=${'A'.repeat(43)}`, yes],
  ...['A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}B`, `${'A'.repeat(42)}%3D`].map(
    (thumbprint) =>
      [
        `/access/read?resource=catalog:movie&principal=joe&thumbprint=${thumbprint}`,
        refusal(400, 'thumbprint must be the SHA-256 of a certificate in DER, base64url without padding'),
      ] as const,
  ),
  ['/access/assume_role?resource=catalog:movie&domain=a:b', refusal(400, `domain ${isNoName('DomainName')}`)],
  ['/access/read?resource=nowhere:movie', refusal(404, 'domain `nowhere` does not exist')],
  ['/access/read?resource=dark:movie', refusal(404, 'domain `dark` does not exist')],
  ['/access/assume_role?resource=catalog:movie&domain=nowhere', refusal(404, 'domain `nowhere` does not exist')],
  ['/access/domain/catalog/principal/media.player', { roles: ['reader'] }],
  ['/access/domain/CATALOG/principal/media.nobody', { roles: [] }],
  ['/access/domain/nowhere/principal/media.player', refusal(404, 'domain `nowhere` does not exist')],
  ['/access/domain/cat!/principal/media.player', refusal(400, `domainName ${isNoName('DomainName')}`)],
  ['/access/domain/catalog/principal/a..b', refusal(400, `principal ${isNoName('PrincipalName')}`)],
  ['/access/domain/catalog/role/reader/principal/joe', yes],
  ['/access/domain/catalog/role/READER/principal/media.player', yes],
  ['/access/domain/catalog/role/der/principal/media.player', no],
  ['/access/domain/catalog/role/none/principal/media.player', no],
  ['/access/domain/catalog/role/a*/principal/media.player', refusal(400, `roleName ${isNoName('RoleName')}`)],
  ['/access/domain/nowhere/role/reader/principal/media.player', refusal(404, 'domain `nowhere` does not exist')],
  ['/access', refusal(404, 'there is nothing at this path')],
  ['/access/read/catalog:movie/x', refusal(404, 'there is nothing at this path')],
  ['/access/read/', refusal(404, 'there is nothing at this path')],
];

for (const [path, body] of cases) {
  test(`GET ${path}`, async (t) => {
    const answer = await asGuest(path);
    t.deepEqual(answer.body, body);
    t.is(answer.status, 'code' in body ? Number(body.code) : 200);
    t.is(answer.headers['cache-control'], 'no-store');
    t.is((await asGuest(path, { method: 'HEAD' })).status, answer.status);
  });
}

test('another method is 405 with Allow', async (t) => {
  const answer = await asGuest('/access/read', { method: 'POST' });
  t.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD']);
  t.deepEqual(answer.body, refusal(405, 'the method is not allowed at this path'));
});

test('a role certificate may ask about others and is nobody itself', async (t) => {
  t.deepEqual((await asRole('/access/read?resource=catalog:movie&principal=joe')).body, yes);
  const answer = await asRole('/access/read?resource=catalog:movie');
  t.deepEqual([answer.status, answer.body], [403, refusal(403, 'a role certificate is not a service identity')]);
});

test('restricted checks need the right to ask, except about oneself', async (t) => {
  const ask = caller(t, strict, guest);
  const may = '/access/read?resource=catalog:movie&principal=media.player';
  t.deepEqual((await ask(may)).body, yes);
  t.deepEqual((await ask('/access/domain/catalog/principal/media.player')).body, { roles: ['reader'] });
  t.deepEqual((await ask('/access/read?resource=catalog:movie')).body, no);
  const refused = refusal(403, 'caller may not ask about this principal');
  t.deepEqual((await ask('/access/read?resource=catalog:movie&principal=joe')).body, refused);
  t.deepEqual((await ask('/access/domain/catalog/role/reader/principal/joe')).body, refused);
  t.is((await ask('/access/read?resource=nowhere:x&principal=joe')).status, 404);
});

const ask = (caller_: typeof asGuest, questions: unknown) =>
  caller_('/access-checks', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ questions }),
  });
const movie = { action: 'read', resource: 'catalog:movie' };

test('many questions have the answers of single ones, in their order', async (t) => {
  const answer = await ask(asGuest, [
    { ...movie, principal: 'media.player' },
    movie,
    { action: 'READ', resource: 'Catalog:shelf/a/b', principal: 'Media.Player' },
    { action: 'read', resource: 'nowhere:movie' },
    { action: 'assume_role', resource: 'catalog:movie', domain: 'dark' },
    { ...movie, principal: 'joe', thumbprint: 'A'.repeat(43) },
  ]);
  t.is(answer.status, 200);
  t.is(answer.headers['cache-control'], 'no-store');
  t.deepEqual(answer.body, {
    answers: [
      yes,
      no,
      yes,
      { granted: false, error: refusal(404, 'domain `nowhere` does not exist') },
      { granted: false, error: refusal(404, 'domain `dark` does not exist') },
      yes,
    ],
  });
  t.is((await ask(asGuest, Array(100).fill(movie))).status, 200);
  t.is((await ask(asGuest, Array(101).fill(movie))).status, 400);
});

test('of many questions each needs the right to ask', async (t) => {
  const questions = [
    { ...movie, principal: 'media.player' },
    { ...movie, principal: 'joe' },
    { ...movie, principal: 'media.guest' },
  ];
  t.deepEqual((await ask(caller(t, strict, guest), questions)).body, {
    answers: [yes, { granted: false, error: refusal(403, 'caller may not ask about this principal') }, no],
  });
  t.deepEqual((await ask(asRole, [{ ...movie, principal: 'joe' }, movie])).body, {
    answers: [yes, { granted: false, error: refusal(403, 'a role certificate is not a service identity') }],
  });
  t.is((await ask(nobody, [movie])).status, 401);
});

const malformedQuestions: readonly (readonly [questions: unknown, message: string])[] = [
  [undefined, '`questions` is missing or not of its type'],
  [[], '`questions` must not be empty'],
  [Array(101).fill(movie), '`questions` must have at most 100 items'],
  [[movie, { action: 'read' }], '`questions[1].resource` is missing or not of its type'],
  [[{ ...movie, why: 'x' }], '`questions[0]` has a member that is not known'],
  [[movie, { ...movie, action: 're ad' }], `questions[1].action ${isNoName('ActionName')}`],
  [[{ ...movie, resource: 'movie' }], 'questions[0].resource must be `domain:entity`'],
  [[{ ...movie, principal: 'media:group.x' }], 'questions[0].principal must be a service or a user'],
];
for (const [questions, message] of malformedQuestions) {
  test(`many questions are refused: ${message}: ${JSON.stringify(questions)?.slice(0, 60)}`, async (t) => {
    t.deepEqual((await ask(asGuest, questions)).body, refusal(400, message));
  });
}

interface TokenFields {
  readonly text?: (text: string) => string;
  readonly key?: KeyObject;
  readonly fields?: Readonly<Record<string, string | undefined>>;
}

function principalToken({ key = ec.privateKey, fields = {}, text = (same) => same }: TokenFields = {}): string {
  return text(signedToken({ now: clock.now(), key, fields }));
}

const own = '/access/read?resource=catalog:movie';
const withToken = (token: string) => asGuest(own, { headers: { 'svc-principal-auth': token } });
const seconds = () => Math.floor(clock.now() / 1000);

const accepted: readonly (readonly [name: string, token: () => string])[] = [
  ['an ECDSA key', () => principalToken()],
  ['an RSA key', () => principalToken({ key: rsa.privateKey, fields: { k: 'R1' } })],
  ['no key id', () => principalToken({ fields: { k: undefined } })],
  ['capital letters', () => principalToken({ fields: { d: 'MEDIA', n: 'Player' } })],
  ['a host and an address', () => principalToken({ fields: { h: 'host.example', i: '10.0.0.1' } })],
  ['a start within the skew', () => principalToken({ fields: { t: String(seconds() + 300) } })],
  ['thirty days of life', () => principalToken({ fields: { e: String(seconds() + 30 * 86_400) } })],
];

for (const [name, token] of accepted) {
  test(`a principal token with ${name} names the caller`, async (t) => {
    t.deepEqual((await withToken(token())).body, yes);
  });
}

const stranger = createPrivateKey(
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' }),
);
const refusedTokens: readonly (readonly [name: string, token: () => string])[] = [
  ['empty', () => ''],
  ['no token', () => 'Bearer x'],
  ['with another signature', () => principalToken({ key: stranger })],
  ['with a changed name', () => principalToken({ text: (text) => text.replace('n=player', 'n=guest') })],
  ['with a changed salt', () => principalToken({ text: (text) => text.replace('a=c0ffee', 'a=c0ffef') })],
  ['with a second name', () => principalToken({ text: (text) => `n=guest;${text}` })],
  ['without a signature', () => principalToken({ text: (text) => text.slice(0, text.indexOf(';s=')) })],
  ['with an empty signature', () => principalToken({ text: (text) => text.slice(0, text.indexOf(';s=') + 3) })],
  ['with something after the signature', () => principalToken({ text: (text) => `${text};x=1` })],
  ['with a cut signature', () => principalToken({ text: (text) => text.slice(0, -4) })],
  ['twice', () => `${principalToken()}, ${principalToken()}`],
  ['expired', () => principalToken({ fields: { e: String(seconds() - 1) } })],
  ['from the future', () => principalToken({ fields: { t: String(seconds() + 302) } })],
  ['that lives too long', () => principalToken({ fields: { e: String(seconds() + 30 * 86_400 + 302) } })],
  ['without an end', () => principalToken({ fields: { e: undefined } })],
  ['with a negative time', () => principalToken({ fields: { t: '-1' } })],
  ['with an unknown key', () => principalToken({ fields: { k: '7' } })],
  ['with a key of another case', () => principalToken({ key: rsa.privateKey, fields: { k: 'r1' } })],
  ['of a service without keys', () => principalToken({ fields: { n: 'guest' } })],
  ['of a disabled service', () => principalToken({ fields: { n: 'gone' } })],
  ['of an unknown domain', () => principalToken({ fields: { d: 'nowhere' } })],
  ['of a user', () => principalToken({ fields: { v: 'U1', d: 'user', n: 'joe' } })],
  ['signed for another service', () => principalToken({ fields: { b: 'media.guest' } })],
  ['of the management service', () => principalToken({ fields: { z: 'zms' } })],
  ['of a megabyte', () => principalToken({ fields: { h: 'x'.repeat(9000) } })],
];

for (const [name, token] of refusedTokens) {
  test(`401: a principal token ${name}, also with a good certificate`, async (t) => {
    const answer = await withToken(token());
    t.deepEqual([answer.status, answer.body], [401, refusal(401, 'principal token is not valid')]);
  });
}

test('a principal token does not stand in for a certificate', async (t) => {
  const headers = { 'svc-principal-auth': principalToken() };
  const answer: Answer = await nobody(own, { headers });
  t.deepEqual([answer.status, answer.body], [401, refusal(401, 'a client certificate is required')]);
  t.deepEqual((await asPlayer(own)).body, yes);
});

test('decisions that took too much work are reported once for each domain, over changes of its policy', async (t) => {
  const heavy = Array.from(
    { length: 1000 },
    (_, index) => ['ALLOW', 'reader', 'read', `*${'a'.repeat(400)}*${'a'.repeat(390)}b${index}?*`] as const,
  );
  const evil = { name: 'evil', roles: { reader: ['media.guest'] }, services: {}, policies: { heavy } };
  const own = await startServer(t, { domains: [{ name: 'media', services: { guest: {} } }, evil] });
  const ask = caller(t, own, await own.pki.identity('media.guest'));
  const path = `/access/read?resource=evil:${'a'.repeat(4000)}`;
  for (let round = 0; round < 3; round += 1) t.deepEqual((await ask(path)).body, no);
  await own.save({ ...evil, policies: { heavy, more: [['ALLOW', 'reader', 'read', 'movie']] } });
  t.deepEqual((await ask(path)).body, no);
  const lines = () => own.log.filter(({ msg }) => String(msg).includes('DENY_BUDGET_EXCEEDED'));
  t.deepEqual(lines(), []);
  await own.running.close();
  t.like(lines(), [{ domain: 'evil', decisions: 4 }]);
  t.is(lines().length, 1);
});

test('what it costs to decide who may ask is paid', async (t) => {
  // On a clock that stands still, so that the budget never fills up.
  const { pki } = server;
  const budget = { workMsPerSecond: 10, burstMs: 100, inFlight: 8, share: 1 };
  // Everything in them is in the resource, and in another order.
  const ends = [
    'principal',
    'rincipal',
    'incipal',
    'ncipal',
    'cipal',
    'ipal',
    'principa',
    'princip',
    'princi',
    'princ',
  ];
  const patterns = ends.flatMap((end) => Array.from({ length: 60 }, (_, index) => `${'*a'.repeat(index + 1)}*${end}*`));
  const paid = await startServer(t, {
    domains: [
      { name: 'media', services: { one: {}, two: {} } },
      { name: 'plain', roles: { any: ['media.one'] } },
      {
        name: 'costly',
        roles: { any: ['media.two'] },
        policies: { rules: patterns.map((pattern) => ['ALLOW', 'any', 'access_check', pattern] as const) },
      },
    ],
    pki,
    options: { 'accessChecks.restricted': true, 'budgets.principal': budget, 'budgets.refusalDelayMs': 0 },
    monotonic: () => 1_000_000,
  });
  const answered = async (name: string, path: string) => {
    const call = caller(t, paid, await pki.identity(name));
    let count = 0;
    while ((await call(path)).status === 403) count += 1;
    return count;
  };
  const plain = await answered('media.one', `/access/domain/plain/principal/media.${'a'.repeat(60)}`);
  const costly = await answered('media.two', `/access/domain/costly/principal/media.${'a'.repeat(60)}`);
  t.true(costly > 0 && costly < plain / 2, `${costly} of ${plain}`);
});
