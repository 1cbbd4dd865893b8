import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConflictError } from '@signet/server/errors';
import { signingOrder, standbyTime } from '@signet/server/keys/key-life';
import { keysInFiles, keysInStore, type PrivateKeys, withPrivateKeys } from '@signet/server/keys/private-keys';
import { ensureSigningKeys, ensureStandbyKeys, rotateKey, withdrawKey } from '@signet/server/keys/rotate-keys';
import { resealKeys, sealKeyFiles } from '@signet/server/keys/seal-keys';
import { createSealing } from '@signet/server/keys/sealing';
import { signingKeyStore } from '@signet/server/keys/signing-key-store';
import { createSigningKeys } from '@signet/server/keys/signing-keys';
import type { SigningKeyRecord } from '@signet/server/model/records';
import type { Store } from '@signet/server/model/store';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const hour = 3_600_000;
const life = { token: 2 * hour, bundle: 168 * hour };
const now = { delayMs: hour, isNow: true };
const later = { delayMs: hour, isNow: false };
const secrets = [1, 2, 3].map((value) => Buffer.alloc(32, value)) as [Buffer, Buffer, Buffer];
const [oldSealing, bothSealing, newSealing, otherSealing] = [
  createSealing([secrets[0]]),
  createSealing([secrets[1], secrets[0]]),
  createSealing([secrets[1]]),
  createSealing([secrets[2]]),
] as const;

async function start(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const clock = new FakeClock(1_800_000_000_000);
  const store = await openSqliteStore(join(folder, 'signet.db'), { clock });
  t.teardown(() => store.close());
  const records = signingKeyStore(store, 'test');
  const depsOf = (privateKeys: PrivateKeys) => ({ store: records, privateKeys, clock, life, prepublishMs: hour });
  const withSealing = (sealing: typeof oldSealing, givesUpLost = false) =>
    depsOf(keysInStore({ store, sealing, givesUpLost }));
  const sealDeps = (sealing: typeof oldSealing) => ({ store: records, sealing, clock, life });
  const named = async (state: 'active' | 'standby', purpose = 'token') => {
    const all = (await store.signingKeys()).filter((record) => record.purpose === purpose && !record.compromisedAt);
    const active = signingOrder(all, 'token', clock.now())[0];
    const found = state === 'active' ? active : all.find(({ activateAt }) => activateAt === standbyTime);
    if (found === undefined) throw new Error(`no ${state} key`);
    return found;
  };
  return { folder, clock, store, depsOf, withSealing, sealDeps, named };
}

/** A server on the store: its snapshot and what it signs with. */
async function serving(t: ExecutionContext, store: Store, clock: FakeClock, privateKeys: PrivateKeys) {
  const errors: string[] = [];
  const missing: (readonly string[])[] = [];
  const source = withPrivateKeys(store, privateKeys, (error) => errors.push(String(error)));
  const live = await openLiveSnapshot({ store: source, clock, refreshIntervalMs: 3_600_000 });
  t.teardown(() => live.close());
  const keys = createSigningKeys({
    records: () => live.current().signingKeys,
    privateKeys,
    clock,
    life,
    onError: (error) => errors.push(String(error)),
    onMissing: (kids) => missing.push(kids),
  });
  return { live, keys, errors, missing };
}

async function auditText(store: Store): Promise<string> {
  return JSON.stringify(await store.audit({ limit: 1000 }));
}

async function sealedTexts(store: Store): Promise<string[]> {
  return [...(await store.sealedKeys()).values()].map(({ text }) => text);
}

test('new keys come sealed, each in the transaction of its record, and leave no file', async (t) => {
  const { folder, store, withSealing, clock } = await start(t);
  const deps = withSealing(oldSealing);
  await ensureSigningKeys(deps);
  await ensureStandbyKeys(deps);
  const records = await store.signingKeys();
  const sealed = await store.sealedKeys();
  t.is(records.length, 4);
  t.deepEqual([...sealed.keys()].sort(), records.map(({ kid }) => kid).sort());
  for (const record of records)
    t.notThrows(() => oldSealing.open(record, sealed.get(record.kid) ?? { sealingKey: '', text: '' }));
  t.false(existsSync(join(folder, 'keys')));
  t.is((await store.state()).counter, 2);
  clock.advance(hour);
  await rotateKey(deps, 'token', later);
  t.is((await store.state()).counter, 3);
  t.is((await store.sealedKeys()).size, 5);
});

test('of two servers that make the first keys at once, with files or sealed, one does', async (t) => {
  for (const kind of ['files', 'sealed'] as const) {
    const { folder, store, depsOf, withSealing } = await start(t);
    const of = (index: number) =>
      kind === 'sealed' ? withSealing(oldSealing) : depsOf(keysInFiles(join(folder, `keys-${index}`)));
    await Promise.all([1, 2, 3].map((index) => ensureSigningKeys(of(index))));
    t.is((await store.signingKeys()).length, 4, kind);
    t.is((await store.sealedKeys()).size, kind === 'sealed' ? 4 : 0);
  }
});

test('the sealed half is in the store alone: not in records, snapshots, changes, or the audit log', async (t) => {
  const { store, clock, withSealing, sealDeps, named } = await start(t);
  const deps = withSealing(oldSealing);
  await ensureSigningKeys(deps);
  const before = await store.state();
  await rotateKey(deps, 'token', later);
  const texts = await sealedTexts(store);
  await resealKeys(sealDeps(bothSealing));
  await withdrawKey(withSealing(bothSealing), (await named('active')).kid);
  texts.push(...(await sealedTexts(store)));
  t.true(texts.length >= 9);
  const { live } = await serving(t, store, clock, withSealing(bothSealing).privateKeys);
  const shown = [
    await auditText(store),
    JSON.stringify(await store.signingKeys()),
    JSON.stringify(await store.changesSince(before)),
    JSON.stringify(await contentsOf(store)),
    JSON.stringify(live.current().signingKeys),
  ];
  for (const text of shown) {
    t.false(/seal[a-z]+":"v1|v1\./.test(text));
    for (const sealed of texts) t.false(sealed.split('.').some((part) => part.length > 2 && text.includes(part)));
  }
});

test('a rotation on one server is followed by the other ones, and by none that cannot open the key', async (t) => {
  const { store, clock, withSealing } = await start(t);
  const deps = withSealing(oldSealing);
  await ensureSigningKeys(deps);
  const one = await serving(t, store, clock, withSealing(oldSealing).privateKeys);
  const two = await serving(t, store, clock, withSealing(bothSealing).privateKeys);
  const wrong = await serving(t, store, clock, withSealing(otherSealing).privateKeys);
  clock.advance(hour);
  // At once, and with a key that nobody has seen before: both have it with the snapshot that has its record.
  await withdrawKey(
    deps,
    (await store.signingKeys()).find(({ purpose, activateAt }) => purpose === 'token' && activateAt === standbyTime)
      ?.kid ?? '',
  );
  const { kid } = await rotateKey(deps, 'token', now);
  clock.advance(1000);
  const again = await rotateKey(deps, 'token', now);
  t.not(kid, again.kid);
  for (const { live } of [one, two, wrong]) await live.refresh();
  clock.advance(1);
  for (const { keys, missing, errors } of [one, two]) {
    t.is(keys.key('token').kid, again.kid);
    t.deepEqual([missing, errors], [[], []]);
  }
  t.throws(() => wrong.keys.key('token'), { name: 'NoSigningKeyError' });
  t.throws(() => wrong.keys.key('bundle'), { name: 'NoSigningKeyError' });
  t.is(wrong.keys.current().missing.length, 2);
  t.is(wrong.missing.length, 1);
  t.true(
    wrong.errors.every((error) => error.includes(`sealed with the sealing key \`${oldSealing.id}\`, which is not`)),
  );
});

test('a damaged active key: nothing signs in its place, until it is repaired', async (t) => {
  const { folder, store, clock, depsOf, withSealing, sealDeps, named } = await start(t);
  const files = keysInFiles(join(folder, 'keys'));
  await ensureSigningKeys(depsOf(files));
  clock.advance(hour);
  await rotateKey(depsOf(files), 'token', now);
  await sealKeyFiles({ ...sealDeps(oldSealing), files });
  const record = await named('active');
  const good = (await store.sealedKeys()).get(record.kid);
  const text = good?.text.replace(/.$/, '') ?? '';
  await store.change({ actor: 'test' }, (change) =>
    change.sealSigningKey(record.kid, { sealingKey: oldSealing.id, text }),
  );
  const { keys, errors, missing } = await serving(t, store, clock, withSealing(oldSealing).privateKeys);
  clock.advance(1);
  t.throws(() => keys.key('token'), { name: 'NoSigningKeyError' });
  t.notThrows(() => keys.key('bundle'));
  t.deepEqual(missing, [[record.kid]]);
  t.deepEqual(errors, [
    `SealedKeyError: the sealed private key of signing key \`${record.kid}\` was changed or truncated`,
  ]);
  // From the file of the machine that made it; the server finds it by itself.
  const repaired = await sealKeyFiles({ ...sealDeps(oldSealing), files });
  t.deepEqual(
    repaired.filter(({ outcome }) => outcome === 'sealed').map(({ kid }) => kid),
    [record.kid],
  );
  keys.current();
  for (let turns = 0; keys.current().token === undefined && turns < 5; turns += 1) {
    clock.advance(5000);
    keys.current();
    await store.state();
  }
  t.is(keys.key('token').kid, record.kid);
  t.deepEqual(missing, [[record.kid], []]);
});

test('a damaged key keeps nobody from rotating, nor from withdrawing a compromised one', async (t) => {
  for (const kind of ['files', 'store'] as const) {
    const { folder, store, clock, withSealing, depsOf, named } = await start(t);
    const keysFolder = join(folder, 'keys');
    const deps = kind === 'store' ? withSealing(oldSealing) : depsOf(keysInFiles(keysFolder));
    await ensureSigningKeys(deps);
    clock.advance(hour);
    const standby = await named('standby');
    const half = { sealingKey: oldSealing.id, text: 'v1.damaged' };
    if (kind === 'files') writeFileSync(join(keysFolder, `${standby.kid}.pem`), half.text);
    else await store.change({ actor: 'test' }, (change) => change.sealSigningKey(standby.kid, half));
    const { kid } = await rotateKey(deps, 'token', now);
    t.not(kid, standby.kid);
    clock.advance(hour);
    // The spare one of the rotation takes its place.
    const heir = await withdrawKey(deps, kid);
    t.false([undefined, kid, standby.kid].includes(heir?.kid));
    await withdrawKey(deps, standby.kid);
  }
});

test('a store that cannot be read when new keys come: the snapshot counts, and the keys are found later', async (t) => {
  const { store, clock, withSealing } = await start(t);
  await ensureSigningKeys(withSealing(oldSealing));
  let isAway = true;
  const away = {
    signingKeys: () => store.signingKeys(),
    sealedKeys: () => (isAway ? Promise.reject(new Error('away')) : store.sealedKeys()),
  };
  const { keys, errors } = await serving(t, store, clock, keysInStore({ store: away, sealing: oldSealing }));
  t.throws(() => keys.key('token'), { name: 'NoSigningKeyError' });
  t.true(errors.includes('Error: away'));
  isAway = false;
  for (let turns = 0; keys.current().missing.length > 0 && turns < 5; turns += 1) {
    clock.advance(5000);
    keys.current();
    await store.state();
  }
  t.notThrows(() => keys.key('token'));
});

test('who has another sealing key makes no keys and rotates none', async (t) => {
  const { store, withSealing, named, clock } = await start(t);
  await ensureSigningKeys(withSealing(oldSealing));
  const before = await store.state();
  const other = withSealing(otherSealing);
  const refused = {
    instanceOf: ConflictError,
    message:
      /^the signing keys are sealed with the sealing key `[0-9a-f]{16}`, which is not configured here: no key was created/,
  };
  await t.throwsAsync(rotateKey(other, 'token', now), refused);
  await t.throwsAsync(withdrawKey(other, (await named('active')).kid), refused);
  await t.throwsAsync(withdrawKey(other, (await named('standby')).kid), refused);
  await ensureSigningKeys(other);
  await ensureStandbyKeys(other);
  t.deepEqual(await store.state(), before);

  // The sealing key is lost for good: those keys are given up.
  clock.advance(hour);
  for (const purpose of ['token', 'bundle'] as const) await rotateKey(withSealing(otherSealing, true), purpose, now);
  const { keys } = await serving(t, store, clock, withSealing(otherSealing).privateKeys);
  clock.advance(1);
  t.notThrows(() => keys.key('token'));
  t.notThrows(() => keys.key('bundle'));
  const halves = await store.sealedKeys();
  const lost = (await store.signingKeys()).filter(
    ({ kid, activateAt }) => activateAt === standbyTime && halves.get(kid)?.sealingKey === oldSealing.id,
  );
  t.is(lost.length, 2);
  for (const { kid } of lost) t.is(await withdrawKey(other, kid), undefined);
  clock.advance(hour);
  await t.notThrowsAsync(rotateKey(other, 'token', later));
});

test('a compromised key loses its sealed half', async (t) => {
  const { store, withSealing, named, clock } = await start(t);
  const deps = withSealing(oldSealing);
  await ensureSigningKeys(deps);
  clock.advance(hour);
  const { kid } = await named('active');
  t.true((await store.sealedKeys()).has(kid));
  await withdrawKey(deps, kid);
  t.false((await store.sealedKeys()).has(kid));
  t.false(
    await store.change({ actor: 'test' }, (change) => change.sealSigningKey(kid, { sealingKey: 'x', text: 'y' })),
  );
  t.false((await store.sealedKeys()).has(kid));
});

test('keys of files are sealed once, and the files go on', async (t) => {
  const { folder, store, clock, depsOf, sealDeps, withSealing } = await start(t);
  const files = keysInFiles(join(folder, 'keys'));
  await ensureSigningKeys(depsOf(files));
  const outcomes = async () => (await sealKeyFiles({ ...sealDeps(oldSealing), files })).map(({ outcome }) => outcome);
  t.deepEqual(await outcomes(), ['sealed', 'sealed', 'sealed', 'sealed']);
  const { counter } = await store.state();
  t.deepEqual(await outcomes(), ['unchanged', 'unchanged', 'unchanged', 'unchanged']);
  t.is((await store.state()).counter, counter);
  const audit = await store.audit({ limit: 4 });
  t.deepEqual(
    audit.map(({ action, before, after }) => [action, before, after]),
    Array.from({ length: 4 }, () => ['seal-signing-key', '{}', `{"sealingKey":"${oldSealing.id}"}`]),
  );
  for (const privateKeys of [files, withSealing(oldSealing).privateKeys]) {
    t.notThrows((await serving(t, store, clock, privateKeys)).keys.key.bind(undefined, 'token'));
  }
  // A key that a server with files made meanwhile.
  clock.advance(hour);
  await rotateKey(depsOf(files), 'token', later);
  t.deepEqual((await outcomes()).toSorted(), ['sealed', 'unchanged', 'unchanged', 'unchanged', 'unchanged']);
});

test('without the file of an active key nothing is sealed; without that of another one it is said', async (t) => {
  const { folder, store, depsOf, sealDeps, named } = await start(t);
  const files = keysInFiles(join(folder, 'keys'));
  await ensureSigningKeys(depsOf(files));
  const [active, standby] = [await named('active'), await named('standby')];
  const elsewhere: Pick<PrivateKeys, 'read'> = {
    read: (name) => (name.kid === active.kid ? undefined : files.read(name)),
  };
  await t.throwsAsync(sealKeyFiles({ ...sealDeps(oldSealing), files: elsewhere }), {
    instanceOf: ConflictError,
    message: `the active token key \`${active.kid}\` has no file on this machine and is not sealed in the store: no key was sealed; run this first on the machine that has the file`,
  });
  t.is((await store.sealedKeys()).size, 0);
  await files.discard(standby.kid);
  const outcomes = await sealKeyFiles({ ...sealDeps(oldSealing), files });
  t.deepEqual(
    outcomes.filter(({ outcome }) => outcome !== 'sealed'),
    [{ kid: standby.kid, purpose: 'token', state: 'standby', outcome: 'missing' }],
  );
  // It is sealed now: the machine that has no file of it can go on where the other one ended.
  t.is((await sealKeyFiles({ ...sealDeps(oldSealing), files: elsewhere })).length, 4);
});

test('sealed with the present key, all keys open without the earlier one, and servers go on meanwhile', async (t) => {
  const { store, clock, withSealing, sealDeps, named } = await start(t);
  await ensureSigningKeys(withSealing(oldSealing));
  const running = await serving(t, store, clock, withSealing(oldSealing).privateKeys);
  const both = await serving(t, store, clock, withSealing(bothSealing).privateKeys);
  t.throws(() => newSealing.open({} as SigningKeyRecord, { sealingKey: oldSealing.id, text: '' }));
  const outcomes = async (sealing: typeof oldSealing) =>
    (await resealKeys(sealDeps(sealing))).map(({ outcome }) => outcome);
  t.deepEqual(await outcomes(otherSealing), ['unreadable', 'unreadable', 'unreadable', 'unreadable']);
  t.deepEqual(await outcomes(bothSealing), ['sealed', 'sealed', 'sealed', 'sealed']);
  const { counter } = await store.state();
  t.deepEqual(await outcomes(bothSealing), ['unchanged', 'unchanged', 'unchanged', 'unchanged']);
  t.is((await store.state()).counter, counter);
  t.like((await store.audit({ limit: 1 }))[0], {
    action: 'seal-signing-key',
    before: `{"sealingKey":"${oldSealing.id}"}`,
    after: `{"sealingKey":"${newSealing.id}"}`,
  });
  for (const { live, keys } of [running, both]) {
    await live.refresh();
    t.is(keys.key('token').kid, (await named('active')).kid);
  }
  const after = await serving(t, store, clock, withSealing(newSealing).privateKeys);
  t.is(after.keys.key('token').kid, (await named('active')).kid);
  t.deepEqual(after.errors, []);
  t.deepEqual(await outcomes(newSealing), ['unchanged', 'unchanged', 'unchanged', 'unchanged']);
});
