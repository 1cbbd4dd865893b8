import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type KeptTokenOutcome, openTokenKeeper, SignetClientError, type TokenKeeperOptions } from '@signet/client';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';

const life = 7_200_000;

/** A keeper of a client that gives `token-1`, `token-2`, ...; `failure` is what it fails with. */
function world(t: ExecutionContext, more: Partial<TokenKeeperOptions> = {}) {
  const clock = new FakeClock();
  const state = { thumbprint: 'a', count: 0, failure: undefined as unknown, forgotten: [] as string[] };
  const next = () => {
    if (state.failure !== undefined) throw state.failure;
    state.count += 1;
    const token = { accessToken: `token-${state.count}`, tokenType: 'Bearer' as const, scope: [] };
    return { ...token, expiresAt: clock.now() + life };
  };
  const file = join(temporaryFolder(t), 'token');
  const keeper = openTokenKeeper({
    client: {
      tokens: {
        get: async () => next(),
        getId: async ({ service }) => ({ ...next(), idToken: `id-${state.count}-${service}` }),
        forget: async (_query, { accessToken }) => void state.forgotten.push(accessToken),
      },
      identity: async () => ({ thumbprint: state.thumbprint }),
    },
    query: { domain: 'catalog' },
    file,
    clock,
    steady: () => clock.now(),
    random: () => 0.5,
    ...more,
  });
  return { keeper, file, clock, state, text: () => readFileSync(file, 'utf8') };
}

test('a token is written, kept for six tenths of its life and replaced', async (t) => {
  const { keeper, file, clock, state, text } = world(t);
  const start = clock.now();
  const first = { expiresAt: start + life, nextAt: start + 0.6 * life };
  t.deepEqual(await keeper.step(), { kind: 'written', ...first });
  t.is(text(), 'token-1');
  t.is(statSync(file).mode & 0o777, 0o600);
  clock.advance(0.6 * life - 1);
  t.deepEqual(await keeper.step(), { kind: 'current', ...first });
  t.is(text(), 'token-1');
  clock.advance(1);
  t.like(await keeper.step(), { kind: 'written', expiresAt: clock.now() + life });
  t.is(text(), 'token-2');
  t.deepEqual(state.forgotten, ['token-1'], 'the client is not to give the same one again');
});

test('another certificate, and a file that is gone, take another token at once', async (t) => {
  const { keeper, file, state, text } = world(t);
  await keeper.step();
  state.thumbprint = 'b';
  t.is((await keeper.step()).kind, 'written');
  t.is(text(), 'token-2');
  rmSync(file);
  t.is((await keeper.step()).kind, 'written');
  t.is(text(), 'token-3');
  t.is((await keeper.step()).kind, 'current');
});

test('a failure leaves the token that is there, and is tried again after a pause that grows', async (t) => {
  const { keeper, clock, state, text } = world(t);
  await keeper.step();
  clock.advance(0.6 * life);
  state.failure = new SignetClientError('unreachable', 'away');
  const pauses: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const outcome = await keeper.step();
    t.like(outcome, { kind: 'failed', error: state.failure });
    pauses.push(outcome.nextAt - clock.now());
    t.is((await keeper.step()).kind, 'current', 'not before its time');
    clock.advance(outcome.nextAt - clock.now());
  }
  t.deepEqual(pauses, [12_500, 15_000, 30_000]);
  t.is(text(), 'token-1');
  state.failure = undefined;
  t.is((await keeper.step()).kind, 'written');
  t.is(text(), 'token-2');
});

test('what the server asks to wait is waited, and the first failure says no expiry', async (t) => {
  const { keeper, clock, state, file } = world(t);
  state.failure = new SignetClientError('server-error', 'busy', { answer: { status: 429, retryAfterSeconds: 3600 } });
  t.deepEqual(await keeper.step(), {
    kind: 'failed',
    error: state.failure,
    nextAt: clock.now() + 4_500_000,
  } as KeptTokenOutcome);
  t.false(existsSync(file));
  clock.advance(4_499_999);
  t.deepEqual(await keeper.step(), { kind: 'current', nextAt: clock.now() + 1 });
});

test('what somebody asks to wait does not outlast the token', async (t) => {
  const left = 0.25 * life;
  for (const seconds of [left / 2000, left / 2000 + 1, 86_400]) {
    const { keeper, clock, state, text } = world(t);
    await keeper.step();
    clock.advance(life - left);
    state.failure = new SignetClientError('server-error', '', { answer: { status: 503, retryAfterSeconds: seconds } });
    // Half of the time that is left, of which a random share is taken.
    t.is((await keeper.step()).nextAt - clock.now(), 0.75 * (left / 2), `${seconds}`);
    state.failure = undefined;
    clock.advance(0.75 * (left / 2));
    t.is((await keeper.step()).kind, 'written');
    t.is(text(), 'token-2');
  }
});

test('with a service it is the ID token that is kept', async (t) => {
  const { keeper, text } = world(t, { query: { domain: 'catalog', service: 'api' } });
  await keeper.step();
  t.is(text(), 'id-1-api');
});

test('a folder that is not there is a failure that names the file, and no token is in the message', async (t) => {
  const file = join(temporaryFolder(t), 'none', 'token');
  const { keeper } = world(t, { file });
  t.like(await keeper.step(), {
    kind: 'failed',
    error: { code: 'invalid-cache', message: `\`${file}\` cannot be written (ENOENT)` },
  });
});

test('it runs until it is told to stop, and waits for what is done with an outcome', async (t) => {
  const { keeper, text } = world(t);
  const stop = new AbortController();
  const seen: string[] = [];
  await keeper.run(stop.signal, async ({ kind }) => {
    seen.push(kind);
    stop.abort();
  });
  t.deepEqual(seen, ['written']);
  t.is(text(), 'token-1');
  await keeper.run(stop.signal, () => seen.push('too late'));
  t.deepEqual(seen, ['written']);
});
