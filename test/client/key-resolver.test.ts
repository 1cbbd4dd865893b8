import { generateKeyPairSync } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { SignetClientError } from '@signet/client';
import test from 'ava';
import { FakeClock } from '#support/clock';

/* Number of key requests, and validity of cached keys, while the server is away. */

type Resolve = (header: { readonly kid: string; readonly alg: string }) => Promise<unknown>;

interface Published {
  readonly keys: readonly object[];
  readonly maxAgeSeconds: number | undefined;
}

const file = fileURLToPath(import.meta.resolve('@signet/client').replace(/index\.ts$/, 'key-resolver.ts'));
const { createKeyResolver }: { createKeyResolver(deps: object): Resolve } = await import(file);

const jwk = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), alg: 'ES256' };
const away = new SignetClientError('unreachable', 'the server is away');

/** A resolver whose server a test takes away: `answer` is what it does with the next request. */
function world() {
  const good = async (): Promise<Published> => ({ keys: [{ ...jwk, kid: 'k', use: 'sig' }], maxAgeSeconds: 60 });
  const state = { asked: 0, answer: good, good };
  const fetchKeys = () => {
    state.asked += 1;
    return state.answer();
  };
  const clock = new FakeClock();
  const resolve = createKeyResolver({ fetchKeys, clock });
  const outcome = (kid = 'k') =>
    resolve({ kid, alg: 'ES256' }).then(
      () => 'found',
      (error: unknown) => (error instanceof SignetClientError ? error.code : String(error)),
    );
  return { state, clock, outcome };
}

/** Number of requests to a server that is away, with a call each second for `seconds`. */
async function callsOf(seconds: number, { state, clock, outcome }: ReturnType<typeof world>) {
  const before = state.asked;
  const outcomes = new Set<string>();
  for (let second = 0; second < seconds; second += 1) {
    outcomes.add(await outcome());
    clock.advance(1000);
  }
  return { asked: state.asked - before, outcomes: [...outcomes] };
}

test('a server that is away is asked with pauses that grow to half a minute, and what is held counts for an hour', async (t) => {
  const own = world();
  t.is(await own.outcome(), 'found');
  own.state.answer = () => Promise.reject(away);
  own.clock.advance(60_000);
  // after 0, 1, 3, 7, 15 and 31 s, then each half minute
  t.deepEqual(await callsOf(90, own), { asked: 7, outcomes: ['found'] });
  own.clock.advance(3_600_000 - 150_000 - 1000);
  t.deepEqual(await callsOf(1, own), { asked: 1, outcomes: ['found'] });
  t.deepEqual(await callsOf(60, own), { asked: 2, outcomes: ['unreachable'] });
  own.state.answer = own.state.good;
  own.clock.advance(30_000);
  t.deepEqual(await callsOf(60, own), { asked: 1, outcomes: ['found'] });
});

test('a server that has not answered yet is not asked with each call', async (t) => {
  const own = world();
  own.state.answer = () => Promise.reject(away);
  t.deepEqual(await callsOf(90, own), { asked: 7, outcomes: ['unreachable'] });
});

test('once it has failed, nobody waits for a server that does not answer', async (t) => {
  const { state, clock, outcome } = world();
  await outcome();
  clock.advance(60_000);
  state.answer = () => Promise.reject(away);
  t.is(await outcome(), 'found');
  const { promise, resolve } = Promise.withResolvers<Published>();
  state.answer = () => promise;
  clock.advance(1000);
  t.deepEqual(await Promise.all([outcome(), outcome(), outcome()]), ['found', 'found', 'found']);
  t.is(state.asked, 3, 'one of them asked');
  const other = { ...jwk, kid: 'other', use: 'sig' };
  resolve({ keys: [{ ...jwk, kid: 'k', use: 'sig' }, other], maxAgeSeconds: 60 });
  await promise;
  t.is(await outcome('other'), 'found');
  t.is(state.asked, 3);
});

test('a key that is not held is not called unknown while the server cannot be asked', async (t) => {
  const { state, clock, outcome } = world();
  await outcome();
  t.is(await outcome('other'), 'unknown-key');
  clock.advance(60_000);
  state.answer = () => Promise.reject(away);
  t.deepEqual([await outcome(), await outcome('other'), state.asked], ['found', 'unreachable', 2]);
  state.answer = state.good;
  clock.advance(1000);
  t.is(await outcome(), 'found');
  t.is(await outcome('other'), 'unknown-key');
});

test('a clock that is set back ends the pause', async (t) => {
  const { state, clock, outcome } = world();
  await outcome();
  clock.advance(60_000);
  state.answer = () => Promise.reject(away);
  await outcome();
  clock.advance(-86_400_000);
  t.is(await outcome(), 'unreachable', 'how old they are nobody knows');
  state.answer = state.good;
  clock.advance(2000);
  t.is(await outcome(), 'found');
});
