import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { keyStates, nextKeyChange, publishedKeys, signingOrder, standbyTime } from '@signet/server/keys/key-life';
import { keysInFiles } from '@signet/server/keys/private-keys';
import {
  addSigningKey,
  ensureSigningKeys,
  ensureStandbyKeys,
  keyPurposes,
  rotateKey,
  withdrawKey,
} from '@signet/server/keys/rotate-keys';
import { signingKeyStore } from '@signet/server/keys/signing-key-store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';

const hour = 3_600_000;
const life = { token: 2 * hour, bundle: 168 * hour };
const now = { delayMs: hour, isNow: true };
const later = { delayMs: hour, isNow: false };

async function start(t: ExecutionContext, { fromBefore = false } = {}) {
  const folder = temporaryFolder(t);
  const clock = new FakeClock(1_800_000_000_000);
  const store = await openSqliteStore(join(folder, 'signet.db'), { clock });
  t.teardown(() => store.close());
  const privateKeys = keysInFiles(join(folder, 'keys'));
  const deps = { store: signingKeyStore(store, 'test'), privateKeys, clock, life, prepublishMs: hour };
  // A store of a program of before has no standby keys.
  for (const purpose of fromBefore ? keyPurposes : []) await addSigningKey(deps, purpose, 0);
  await ensureSigningKeys(deps);
  return {
    deps,
    clock,
    records: () => store.signingKeys(),
    files: () => readdirSync(join(folder, 'keys')).length,
    /** The states of the token keys, and who signs. */
    states: async () => {
      const records = await store.signingKeys();
      const states = keyStates(records, clock.now(), life);
      const all = records.filter(({ purpose }) => purpose === 'token');
      return all.map(({ kid, compromisedAt }) => (compromisedAt ? 'compromised' : states.get(kid))).sort();
    },
    published: async () => publishedKeys(await store.signingKeys(), clock.now(), life).map(({ kid }) => kid),
    signing: async () => signingOrder(await store.signingKeys(), 'token', clock.now())[0]?.kid,
    standby: async () =>
      (await store.signingKeys()).find(
        ({ purpose, activateAt, compromisedAt }) => purpose === 'token' && activateAt === standbyTime && !compromisedAt,
      )?.kid,
  };
}

test('a standby key is published and does not sign, however long it waits', async (t) => {
  const { deps, clock, states, records, published, signing, standby, files } = await start(t);
  t.deepEqual(await states(), ['active', 'standby']);
  const kid = (await standby()) ?? '';
  t.true((await published()).includes(kid));
  clock.advance(100_000 * hour);
  t.deepEqual(await states(), ['active', 'standby']);
  t.not(await signing(), kid);
  t.is(nextKeyChange(await records(), clock.now(), life), Number.POSITIVE_INFINITY);
  await Promise.all([ensureStandbyKeys(deps), ensureStandbyKeys(deps)]);
  t.deepEqual([(await records()).length, files()], [4, 4]);
});

test('servers that make the first standby key at once make one', async (t) => {
  const { deps, states, files } = await start(t, { fromBefore: true });
  t.deepEqual(await states(), ['active']);
  await Promise.all([1, 2, 3].map(() => ensureStandbyKeys(deps)));
  t.deepEqual(await states(), ['active', 'standby']);
  t.is(files(), 4);
});

test('rotated at once, the key that verifiers know signs, and another one stands by', async (t) => {
  const { deps, clock, signing, standby, states, published } = await start(t);
  clock.advance(hour);
  const known = await published();
  const kid = await standby();
  const first = await rotateKey(deps, 'token', now);
  t.deepEqual([first.kid, await signing()], [kid, kid]);
  t.true(known.includes(first.kid));
  t.true(first.createdAt + hour <= clock.now());
  t.deepEqual(await states(), ['active', 'retired', 'standby']);
  // again: the other one is as new as the first rotation
  clock.advance(1000);
  const second = await rotateKey(deps, 'token', now);
  t.is(await signing(), second.kid);
  t.is(second.createdAt + 1000, clock.now());
});

test('rotated in order, the standby key waits until every verifier is sure to know it', async (t) => {
  const { deps, clock, signing, standby, states } = await start(t);
  const before = await signing();
  const kid = await standby();
  t.like(await rotateKey(deps, 'token', later), { kid, activateAt: clock.now() + hour });
  t.deepEqual(await states(), ['active', 'next', 'standby']);
  clock.advance(hour - 1);
  t.is(await signing(), before);
  clock.advance(1);
  t.is(await signing(), kid);
});

test('a key whose turn was to come is taken at once before one that nobody knows', async (t) => {
  const { deps, clock, states } = await start(t);
  clock.advance(hour);
  const { kid } = await rotateKey(deps, 'token', later);
  clock.advance(1000);
  t.is((await rotateKey(deps, 'token', now)).kid, kid);
  t.deepEqual(await states(), ['active', 'retired', 'standby', 'standby']);
});

test('a compromised key: the standby key takes its place, not one that is withdrawn long since', async (t) => {
  const { deps, clock, signing, standby, states, published } = await start(t);
  const first = await signing();
  clock.advance(hour);
  const { kid } = await rotateKey(deps, 'token', now);
  clock.advance(100 * hour);
  t.false((await published()).includes(first ?? ''));
  const heir = await standby();
  t.is((await withdrawKey(deps, kid))?.kid, heir);
  t.is(await signing(), heir);
  t.deepEqual(await states(), ['active', 'compromised', 'standby', 'withdrawn']);
  t.false((await published()).includes(kid));
  // once more changes nothing
  t.is(await withdrawKey(deps, kid), undefined);
  t.is(await signing(), heir);
});

test('a compromised key with a standby key that nobody knows yet: the one before takes over while it is published', async (t) => {
  const { deps, clock, signing, states } = await start(t);
  const first = await signing();
  clock.advance(hour);
  const { kid } = await rotateKey(deps, 'token', now);
  clock.advance(hour - 1);
  t.is(await withdrawKey(deps, kid), undefined);
  t.is(await signing(), first);
  t.deepEqual(await states(), ['active', 'compromised', 'standby']);
});

test('a compromised first key: the standby key signs even when it is new, and is told', async (t) => {
  const { deps, clock, signing, standby } = await start(t);
  const heir = await standby();
  clock.advance(1000);
  const successor = await withdrawKey(deps, (await signing()) ?? '');
  t.like(successor, { kid: heir, createdAt: clock.now() - 1000 });
  t.is(await signing(), heir);
});

test('a compromised standby key, or one whose turn was to come, is replaced', async (t) => {
  const { deps, signing, standby, states } = await start(t);
  const active = await signing();
  const lost = (await standby()) ?? '';
  t.is(await withdrawKey(deps, lost), undefined);
  t.deepEqual(await states(), ['active', 'compromised', 'standby']);
  t.not(await standby(), lost);
  const { kid } = await rotateKey(deps, 'token', later);
  t.is(await withdrawKey(deps, kid), undefined);
  t.is(await signing(), active);
  t.deepEqual(await states(), ['active', 'compromised', 'compromised', 'standby']);
});

for (const [lost, other, prepare] of [
  ['standby', 'active', 'nothing'],
  ['active', 'standby', 'nothing'],
  ['active', 'retired', 'rotated'],
  ['retired', 'active', 'rotated'],
] as const) {
  test(`withdrawn at once with the ${other} key of another process, the ${lost} one leaves a key that signs`, async (t) => {
    const { deps, clock, records, signing, states, files } = await start(t);
    clock.advance(hour);
    if (prepare === 'rotated') await rotateKey(deps, 'token', now);
    clock.advance(1);
    const known = await records();
    const before = keyStates(known, clock.now(), life);
    const kidOf = (state: string) =>
      known.find(({ kid, purpose }) => purpose === 'token' && before.get(kid) === state)?.kid ?? '';
    // The other process commits between what this one has read and its transaction.
    const store: typeof deps.store = {
      ...deps.store,
      async change(work) {
        await withdrawKey(deps, kidOf(other));
        return deps.store.change(work);
      },
    };
    await t.throwsAsync(withdrawKey({ ...deps, store }, kidOf(lost)), { name: 'ConflictError' });
    t.truthy(await signing());
    t.is(files(), (await records()).length, 'what was made for nothing has no file');
    // as the refusal advises
    await withdrawKey(deps, kidOf(lost));
    t.is((await states()).filter((state) => state === 'active').length, 1);
    t.is((await states()).filter((state) => state === 'compromised').length, 2);
    t.true((await states()).includes('standby'));
  });
}

test('a rotation of the other purpose does not stand in the way of a key that is withdrawn', async (t) => {
  const { deps, signing } = await start(t);
  const lost = (await signing()) ?? '';
  const store: typeof deps.store = {
    ...deps.store,
    async change(work) {
      await rotateKey(deps, 'bundle', now);
      return deps.store.change(work);
    },
  };
  const successor = await withdrawKey({ ...deps, store }, lost);
  t.is(await signing(), successor?.kid);
});

test('a standby key whose private half is on another machine is not taken', async (t) => {
  const { deps, clock, signing, standby } = await start(t);
  clock.advance(1);
  const elsewhere = (await standby()) ?? '';
  await deps.privateKeys.discard(elsewhere);
  const { kid } = await rotateKey(deps, 'token', now);
  t.not(kid, elsewhere);
  t.is(await signing(), kid);
  t.truthy(deps.privateKeys.read({ kid, purpose: 'token', algorithm: 'ES256' }));
});
