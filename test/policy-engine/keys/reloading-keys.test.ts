import { PolicyEngineError } from '@signet/policy-engine';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import type { JwkList } from '@signet/policy-engine/wire';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* When a source of keys looks again, and what a look may change. */

interface Options {
  load(signal: AbortSignal): Promise<string>;
  place: string;
  clock: TestClock;
  pauseMs: number;
  refreshIntervalMs: number;
  timeoutMs: number;
  kept?: JwkList;
  mustShareKey?: boolean;
  keep?(keys: JwkList): Promise<void>;
}
interface Reloading {
  readonly revision: number;
  readonly error: PolicyEngineError | undefined;
  find(kid: string, purpose: 'token'): Promise<unknown>;
  refresh(): Promise<void>;
  close(): void;
}
const { ReloadingKeys } = await internals<{ ReloadingKeys: { open(options: Options): Promise<Reloading> } }>(
  'policy-engine/src/keys/reloading-keys.ts',
);

const clock = new TestClock();
const [first, second] = [
  (await createTestAuthority({ clock })).keys.keys,
  (await createTestAuthority({ clock })).keys.keys,
];

/** Keys from a place that answers what `place.keys` holds, or fails where that is an error. */
async function world(more: Partial<Options> = {}) {
  const place: { keys: readonly object[] | Error; asked: number } = { keys: first, asked: 0 };
  const load = async () => {
    place.asked += 1;
    if (place.keys instanceof Error) throw place.keys;
    return JSON.stringify({ keys: place.keys });
  };
  const own = new TestClock();
  const keys = await ReloadingKeys.open({
    load,
    place: 'here',
    clock: own,
    pauseMs: 1000,
    refreshIntervalMs: 1e8,
    timeoutMs: 60_000,
    ...more,
  });
  return { place, keys, clock: own };
}

test('an unknown name leads to a look when the pause is over, and not before', async (t) => {
  const { place, keys, clock: own } = await world();
  t.teardown(() => keys.close());
  own.advance(999);
  t.is(await keys.find('x', 'token'), undefined);
  t.is(place.asked, 1);
  own.advance(1);
  t.is(await keys.find('x', 'token'), undefined);
  t.is(place.asked, 2);
  t.not(await keys.find(first[0]?.kid ?? '', 'token'), undefined);
  t.is(place.asked, 2);
});

test('who asks while a look is under way waits for it', async (t) => {
  const { place, keys, clock: own } = await world();
  t.teardown(() => keys.close());
  place.keys = [...first, { ...second[0], kid: 'new' }];
  own.advance(1000);
  const found = await Promise.all([keys.find('new', 'token'), keys.find('new', 'token'), keys.find('new', 'token')]);
  t.false(found.includes(undefined));
  t.is(place.asked, 2);
});

test('the revision grows when a key is withdrawn or replaced, and only then', async (t) => {
  const { place, keys } = await world();
  t.teardown(() => keys.close());
  const after = async (next: readonly object[]) => {
    place.keys = next;
    await keys.refresh();
    return keys.revision;
  };
  t.is(keys.revision, 0);
  t.is(await after(first), 0);
  t.is(await after([...first, ...second]), 0);
  t.is(await after(first), 1);
  t.is(await after(first.map((jwk, index) => ({ ...second[index], kid: jwk.kid }))), 2);
});

test('keys that share none are refused where they must share one, and taken elsewhere', async (t) => {
  const careful = await world({ mustShareKey: true });
  const open = await world();
  t.teardown(() => careful.keys.close());
  t.teardown(() => open.keys.close());
  for (const { place, keys } of [careful, open]) {
    place.keys = second;
    await keys.refresh();
  }
  t.is(careful.keys.error?.code, 'keys-replaced');
  t.regex(careful.keys.error?.message ?? '', /^keys of here are refused: none of the keys was known/);
  t.not(await careful.keys.find(first[0]?.kid ?? '', 'token'), undefined);
  t.is(open.keys.error, undefined);
  t.is(await open.keys.find(first[0]?.kid ?? '', 'token'), undefined);
});

test('an error says why, in the words of the fault where it is one of ours', async (t) => {
  const { place, keys } = await world();
  t.teardown(() => keys.close());
  for (const [answer, message] of [
    [[], 'keys of here cannot be had: key set holds no usable key'],
    [new TypeError('fetch failed'), 'keys of here cannot be had: the place does not answer'],
    [new PolicyEngineError('keys-malformed', 'odd'), 'keys of here cannot be had: odd'],
  ] as const) {
    place.keys = answer;
    await keys.refresh();
    t.like(keys.error, { code: 'keys-unavailable', message });
  }
  place.keys = first;
  await keys.refresh();
  t.is(keys.error, undefined);
});

test('kept keys count when the first look fails, and what a good look finds is kept', async (t) => {
  const load = async () => Promise.reject(new Error('down'));
  const { keys } = await world({ load, kept: { keys: first } });
  t.teardown(() => keys.close());
  t.not(await keys.find(first[0]?.kid ?? '', 'token'), undefined);
  t.is(keys.error?.code, 'keys-unavailable');
  await t.throwsAsync(world({ load }), { code: 'keys-unavailable' } as never);
  const written: JwkList[] = [];
  const other = await world({ keep: async (list) => void written.push(list) });
  t.teardown(() => other.keys.close());
  t.deepEqual(written, [{ keys: first }]);
});

test('after the end nothing looks any more, and the known keys stay', async (t) => {
  const { place, keys, clock: own } = await world();
  keys.close();
  own.advance(5000);
  t.is(await keys.find('x', 'token'), undefined);
  await keys.refresh();
  t.is(place.asked, 1);
  t.is(keys.error, undefined);
  t.not(await keys.find(first[0]?.kid ?? '', 'token'), undefined);
});

test('a clock that is set back begins a new pause, which does not last longer than others', async (t) => {
  const { place, keys, clock: own } = await world();
  t.teardown(() => keys.close());
  own.advance(-3_600_000);
  t.is(await keys.find('x', 'token'), undefined);
  t.is(place.asked, 1);
  own.advance(999);
  t.is(await keys.find('x', 'token'), undefined);
  t.is(place.asked, 1);
  own.advance(1);
  t.is(await keys.find('x', 'token'), undefined);
  t.is(place.asked, 2);
});
