import test from 'ava';
import { FakeClock } from '#support/clock';
import { internals } from '../../limits/row.ts';

/* Requests to the token endpoint, accepted answers, and reuse of their tokens. */

interface Sent {
  readonly body: string;
}
interface Tokens {
  get(query: object): Promise<{ accessToken: string; scope: string[]; expiresAt: number }>;
  getId(query: object): Promise<{ idToken: string; expiresAt: number }>;
  forget(query: object, token: { accessToken: string }): Promise<void>;
}
const { Tokens } = await internals<{ Tokens: new (deps: object) => Tokens }>('client/src/tokens/tokens.ts');

const good = { access_token: 'a', token_type: 'Bearer', expires_in: 7200, scope: 'd:role.r' };

function world(answer: object = good) {
  const clock = new FakeClock();
  const sent: URLSearchParams[] = [];
  const server = { answer, thumbprint: 't' };
  const send = async ({ body }: Sent) => {
    sent.push(new URLSearchParams(body));
    return { body: Buffer.from(JSON.stringify(server.answer)) };
  };
  const deps = {
    http: { send },
    clock,
    caller: async () => ({ principal: 'm.s', thumbprint: server.thumbprint }),
    cacheSize: 9,
    server: 's',
  };
  return { clock, sent, server, tokens: new Tokens(deps) };
}

const malformed: [note: string, change: object, problem: RegExp][] = [
  ['no type', { token_type: undefined }, /`token_type`/],
  ['another type', { token_type: 'DPoP' }, /`token_type` is not Bearer/],
  ['no token', { access_token: undefined }, /`access_token`/],
  ['a token that is a number', { access_token: 7 }, /`access_token`/],
  ['a life of nought', { expires_in: 0 }, /`expires_in` must be a positive number/],
  ['a life below nought', { expires_in: -1 }, /`expires_in` must be a positive number/],
  ['a life of a fraction', { expires_in: 1.5 }, /`expires_in` must be a positive number/],
  ['a life that is a string', { expires_in: '7200' }, /`expires_in` must be a positive number/],
  ['a scope that is a number', { scope: 7 }, /`scope`/],
  ['an ID token that is a number', { id_token: 7 }, /`id_token`/],
];
for (const [note, change, message] of malformed) {
  test(`an answer is malformed: ${note}`, async (t) => {
    const { tokens } = world({ ...good, ...change });
    await t.throwsAsync(tokens.get({ domain: 'd' }), { code: 'response-malformed', message } as never);
  });
}

test('an answer is read', async (t) => {
  const { clock, tokens } = world({ ...good, token_type: 'bearer', scope: 'd:role.r  d:role.s', expires_in: 1 });
  const expected = {
    accessToken: 'a',
    tokenType: 'Bearer',
    scope: ['d:role.r', 'd:role.s'],
    expiresAt: clock.now() + 1000,
  };
  t.deepEqual<unknown, unknown>(await tokens.get({ domain: 'd' }), expected);
  const bare = world({ ...good, scope: undefined, id_token: 'i' });
  t.deepEqual((await bare.tokens.get({ domain: 'd' })).scope, ['d:domain'], 'as asked for');
  t.false('idToken' in (await bare.tokens.get({ domain: 'd' })));
});

const jwt = (payload: string) => `h.${Buffer.from(payload).toString('base64url')}.s`;
const inSeconds = (life: number) => jwt(JSON.stringify({ exp: new FakeClock().now() / 1000 + life }));
const lives: readonly [note: string, token: string, lifeSeconds: number][] = [
  ['that of the token', inSeconds(600), 600],
  ['of a token that has expired', inSeconds(-1), 0],
  ['of a token that says none', jwt('{}'), 0],
  ['of a token that says something else', jwt('{"exp":"600"}'), 0],
  ['of a token whose payload is no object', jwt('null'), 0],
  ['of a token that is no JWT', 'opaque', 0],
];
for (const [note, token, life] of lives) {
  test(`the life that the answer does not say: ${note}`, async (t) => {
    const { clock, sent, tokens } = world({ ...good, access_token: token, expires_in: undefined });
    t.is((await tokens.get({ domain: 'd' })).expiresAt, clock.now() + life * 1000);
    await tokens.get({ domain: 'd' });
    t.is(sent.length, life > 0 ? 1 : 2, 'used again only while it is known to be good');
  });
}

test('what is asked for', async (t) => {
  const { sent, server, tokens } = world();
  await tokens.get({ domain: 'D' });
  await tokens.get({ domain: 'd', roles: ['s', 'R', 's'], expiresIn: 60 });
  server.answer = { ...good, id_token: 'i' };
  await tokens.getId({ domain: 'd', service: 'api' });
  t.deepEqual(
    sent.map((form) => Object.fromEntries(form)),
    [
      { grant_type: 'client_credentials', client_id: 'm.s', scope: 'd:domain' },
      { grant_type: 'client_credentials', client_id: 'm.s', scope: 'd:role.r d:role.s', expires_in: '60' },
      { grant_type: 'client_credentials', client_id: 'm.s', scope: 'd:domain openid d:service.api' },
    ],
  );
  await t.throwsAsync(tokens.get({ domain: 'd', expiresIn: -1 }), { code: 'invalid-argument' } as never);
  await t.throwsAsync(tokens.get({ domain: 'd:x' }), { code: 'invalid-argument' } as never);
});

test('a token is used again until a quarter of its life is left, for the same question and certificate', async (t) => {
  const { clock, sent, server, tokens } = world();
  const ask = async (more: object = {}) => {
    await tokens.get({ domain: 'd', ...more });
    return sent.splice(0).length;
  };
  t.is(await ask(), 1);
  t.is(await ask(), 0);
  t.deepEqual([await ask({ roles: ['r'] }), await ask({ expiresIn: 9 }), await ask({ domain: 'e' })], [1, 1, 1]);
  server.thumbprint = 'u';
  t.is(await ask(), 1);
  server.thumbprint = 't';
  clock.advance(5_400_000);
  t.is(await ask(), 0);
  clock.advance(1);
  t.is(await ask(), 1);
  await tokens.forget({ domain: 'd' }, { accessToken: 'other' });
  t.is(await ask(), 0);
  await tokens.forget({ domain: 'd' }, { accessToken: 'a' });
  t.is(await ask(), 1);
});

test('the quarter is of the life that was asked for, not of a shorter one that was granted', async (t) => {
  const { clock, sent, tokens } = world({ ...good, expires_in: 100 });
  await tokens.get({ domain: 'd', expiresIn: 400 });
  await tokens.get({ domain: 'd', expiresIn: 400 });
  clock.advance(1);
  await tokens.get({ domain: 'd', expiresIn: 400 });
  t.is(sent.length, 2);
});

test('an ID token is kept an hour at most, and one is needed', async (t) => {
  const { clock, sent, server, tokens } = world({ ...good, id_token: 'i' });
  const query = { domain: 'd', service: 'api' };
  t.is((await tokens.getId(query)).expiresAt, clock.now() + 3_600_000);
  clock.advance(2_700_000);
  await tokens.getId(query);
  clock.advance(1);
  await tokens.getId(query);
  t.is(sent.length, 2);
  await tokens.getId({ ...query, expiresIn: 7200 });
  clock.advance(2_700_000);
  await tokens.getId({ ...query, expiresIn: 7200 });
  t.is(sent.length, 3);
  server.answer = good;
  await t.throwsAsync(tokens.getId({ ...query, domain: 'e' }), { message: /`id_token` is missing/ });
});
