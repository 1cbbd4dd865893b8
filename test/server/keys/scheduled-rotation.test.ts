import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { listKeys } from '@signet/server/cli/keys';
import { loadConfig } from '@signet/server/config/config';
import { keyStates, publishedKeys, rotationDueAt } from '@signet/server/keys/key-life';
import { newSigningKey } from '@signet/server/keys/new-signing-key';
import { keysInFiles, keysInStore } from '@signet/server/keys/private-keys';
import { ensureSigningKeys, rotateKeyWhenDue, type Successor } from '@signet/server/keys/rotate-keys';
import { scheduleRotation } from '@signet/server/keys/scheduled-rotation';
import { createSealing } from '@signet/server/keys/sealing';
import { signingKeyStore } from '@signet/server/keys/signing-key-store';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';
import { saveDomain } from '#support/save-domain';
import { startServer } from '#support/start-server';
import { storeKinds } from '#support/store-kinds';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const hour = 3_600_000;
const day = 24 * hour;
const life = { token: 2 * hour, bundle: 7 * day };
const schedule = { everyMs: 30 * day, delayMs: hour };
const sealing = createSealing([Buffer.alloc(32, 7)]);
const start = 1_800_000_000_000;

for (const { name, place } of storeKinds) {
  test(`${name}: of servers that find a key due at once, one rotates it`, async (t) => {
    const clock = new FakeClock(start);
    const where = await place(t);
    const servers = await Promise.all([1, 2, 3].map(() => openStore(where, { clock })));
    t.teardown(async () => {
      for (const store of servers) await store.close();
    });
    const deps = servers.map((store, index) => ({
      store: signingKeyStore(store, `server ${index}`, 'schedule'),
      privateKeys: keysInStore({ store, sealing }),
      clock,
    }));
    const [first] = deps;
    const [store] = servers;
    if (first === undefined || store === undefined) return t.fail();
    await ensureSigningKeys(first);
    const rotateAll = () => Promise.all(deps.map((each) => rotateKeyWhenDue(each, 'token', schedule)));
    clock.advance(schedule.everyMs - schedule.delayMs - 1);
    t.deepEqual(await rotateAll(), [undefined, undefined, undefined]);
    t.is((await store.signingKeys()).length, 4);

    clock.advance(1);
    const rotated = (await rotateAll()).filter((successor) => successor !== undefined);
    t.is(rotated.length, 1);
    t.is(rotated[0]?.activateAt, start + schedule.everyMs, 'each key signs for as long as the schedule says');
    const records = await store.signingKeys();
    t.is(records.length, 5, 'nothing is left of those that were slower');
    t.is((await store.sealedKeys()).size, 5);
    const states = keyStates(records, clock.now(), life);
    const ofTokens = records.filter(({ purpose }) => purpose === 'token').map(({ kid }) => states.get(kid));
    t.deepEqual(ofTokens.sort(), ['active', 'next', 'standby']);
    t.deepEqual(await rotateAll(), [undefined, undefined, undefined], 'and that one counts');
    t.regex(JSON.stringify(await store.audit({ limit: 1 })), /"actor":"server \d".*"reason":"schedule"/);
  });
}

test('servers with one folder of keys leave no file of a rotation that another one was faster with', async (t) => {
  const clock = new FakeClock(start);
  const folder = temporaryFolder(t);
  const store = await openStore({ kind: 'sqlite', file: join(folder, 'signet.db') }, { clock });
  t.teardown(() => store.close());
  const deps = { store: signingKeyStore(store, 'test'), privateKeys: keysInFiles(join(folder, 'keys')), clock };
  await ensureSigningKeys(deps);
  clock.advance(40 * day);
  const rotated = await Promise.all([1, 2, 3].map(() => rotateKeyWhenDue(deps, 'bundle', schedule)));
  t.is(rotated.filter((each) => each !== undefined).length, 1);
  const files = readdirSync(join(folder, 'keys')).map((file) => file.replace('.pem', ''));
  t.deepEqual(files.sort(), (await store.signingKeys()).map(({ kid }) => kid).sort());
});

test('over years, what verifiers are given is never more than four keys of a purpose, and each signs its time', async (t) => {
  const clock = new FakeClock(start);
  const folder = temporaryFolder(t);
  const store = await openStore({ kind: 'sqlite', file: join(folder, 'signet.db') }, { clock });
  t.teardown(() => store.close());
  const deps = { store: signingKeyStore(store, 'test'), privateKeys: keysInStore({ store, sealing }), clock };
  await ensureSigningKeys(deps);
  // The least that a configuration may say for bundles of seven days.
  const least = { everyMs: life.bundle + hour + 300_000, delayMs: hour };
  const activations: number[] = [];
  for (let looks = 0; looks < 200; looks += 1) {
    const rotated = await rotateKeyWhenDue(deps, 'bundle', least);
    if (rotated !== undefined) activations.push(rotated.activateAt);
    const published = publishedKeys(await store.signingKeys(), clock.now(), life);
    t.true(published.filter(({ purpose }) => purpose === 'bundle').length <= 4);
    clock.advance(hour * 9);
  }
  t.true(activations.length > 8);
  for (const [index, at] of activations.entries()) {
    const late = at - (activations[index - 1] ?? start) - least.everyMs;
    t.true(late >= 0 && late < 9 * hour, 'late by no more than a look');
  }
});

/** The schedule of one process over records that a test makes. */
function scheduled(rotate: () => Promise<Successor | undefined>, random: () => number = () => 0.5) {
  const clock = new FakeClock(start);
  const { record: key } = newSigningKey('token', start, start);
  const records = { now: [key] };
  const errors: string[] = [];
  let attempts = 0;
  const rotation = scheduleRotation({
    schedule,
    records: () => records.now,
    rotate: () => {
      attempts += 1;
      return rotate();
    },
    clock,
    random,
    onRotated: () => undefined,
    onError: (error, purpose) => errors.push(`${purpose}: ${String(error)}`),
  });
  const look = async (times = 1): Promise<number> => {
    for (let looks = 0; looks < times; looks += 1) {
      rotation.look();
      await new Promise(setImmediate);
    }
    return attempts;
  };
  clock.set(rotationDueAt(records.now, 'token', schedule));
  return { clock, records, errors, rotation, look, key };
}

test('a process waits for its jitter, and tries once in an interval although it fails each time', async (t) => {
  const { clock, errors, look } = scheduled(() => Promise.reject(new Error('the store is away')));
  clock.advance(-1);
  t.is(await look(3), 0, 'nothing is due');
  clock.advance(1);
  t.is(await look(3), 0, 'noticed');
  clock.advance(29_999);
  t.is(await look(3), 0);
  clock.advance(1);
  t.is(await look(3), 1);
  t.deepEqual(errors, ['token: Error: the store is away']);
  clock.advance(629_999);
  t.is(await look(3), 1);
  clock.advance(1);
  t.is(await look(3), 2);
  clock.advance(-86_400_000 * 300);
  t.is(await look(3), 2, 'a clock that is set back makes nothing due');
  clock.advance(86_400_000 * 301);
  t.is(await look(3), 2, 'and no wait longer: the jitter again');
  clock.advance(30_000);
  t.is(await look(3), 3);
});

test('a server that finds the key replaced by another one does not try, and draws its jitter again the next time', async (t) => {
  const { clock, records, look, key } = scheduled(() => Promise.resolve(undefined));
  t.is(await look(), 0);
  records.now = [{ ...key, activateAt: start + schedule.everyMs }];
  clock.advance(hour);
  t.is(await look(3), 0);
  clock.advance(schedule.everyMs);
  t.is(await look(3), 0);
  clock.advance(30_000);
  t.is(await look(3), 1);
});

test('a rotation that is on its way is waited for at the end, after which none begins', async (t) => {
  const ended = Promise.withResolvers<undefined>();
  const { clock, look, rotation } = scheduled(
    () => ended.promise,
    () => 0,
  );
  t.is(await look(), 1);
  clock.advance(day);
  t.is(await look(3), 1, 'not beside one that runs');
  let isClosed = false;
  const closed = rotation.close().then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  t.false(isClosed);
  ended.resolve(undefined);
  await closed;
  clock.advance(day);
  t.is(await look(3), 1);
});

test('a server rotates what is due at its look at the store, says so, and the audit log names its schedule', async (t) => {
  const clock = new FakeClock(start);
  const sealingKeyFile = join(temporaryFolder(t), 'sealing.key');
  writeFileSync(sealingKeyFile, Buffer.alloc(32, 7), { mode: 0o600 });
  const options = {
    'keys.rotateEverySeconds': 40 * 86_400,
    'keys.storage': 'store',
    'keys.sealingKeyFile': sealingKeyFile,
  };
  const { running, store, log } = await startServer(t, { clock, options });
  const said = () => log.filter(({ msg }) => msg === 'signing key rotated on schedule');
  clock.advance(40 * day - 2 * hour);
  await running.refresh();
  clock.advance(60_000);
  await running.refresh();
  t.deepEqual(said(), []);

  clock.advance(hour + 600_000);
  await store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent({ name: 'media' })));
  clock.advance(-600_000);
  for (let looks = 0; looks < 3; looks += 1) {
    await running.refresh();
    clock.advance(60_000);
  }
  t.deepEqual(said(), [], 'not by a clock that another record says is behind');
  clock.advance(600_000);
  for (let looks = 0; looks < 2; looks += 1) {
    await running.refresh();
    clock.advance(60_000);
  }
  await until('both purposes are rotated', () => said().length === 2);
  t.deepEqual(
    said().map(({ purpose }) => purpose),
    ['token', 'bundle'],
  );
  t.is((await store.signingKeys()).length, 6);
  const { actor, reason } = (await store.audit({ limit: 1 }))[0] ?? {};
  t.deepEqual([actor, reason], ['signet serve schedule', 'every 3456000 s']);
});

test('the list of keys shows when the next rotation of each purpose is due, beside the key that it replaces', async (t) => {
  const clock = new FakeClock(start);
  const folder = temporaryFolder(t);
  const store = await openStore({ kind: 'sqlite', file: join(folder, 'signet.db') }, { clock });
  t.teardown(() => store.close());
  const deps = { store: signingKeyStore(store, 'test'), privateKeys: keysInStore({ store, sealing }), clock };
  await ensureSigningKeys(deps);
  const file = join(folder, 'signet.yaml');
  const tls = 'tls: { certificate: c, key: k, clientCa: r }';
  writeFileSync(file, `${tls}\nkeys: { rotateEverySeconds: ${40 * 86_400} }\n`);
  const due = async () =>
    (await listKeys(store, loadConfig(file), clock))
      .map(({ purpose, state, ...row }) => `${state} ${purpose}: ${'rotationDue' in row ? row.rotationDue : 'by hand'}`)
      .sort();
  const first = formatTimestamp(start + 40 * day - hour);
  const waiting = ['standby bundle: null', 'standby token: null'];
  t.deepEqual(await due(), [`active bundle: ${first}`, `active token: ${first}`, ...waiting]);
  clock.advance(41 * day);
  await rotateKeyWhenDue(deps, 'token', schedule);
  const next = formatTimestamp(clock.now() + 40 * day);
  t.deepEqual(await due(), [`active bundle: ${first}`, 'active token: null', `next token: ${next}`, ...waiting]);
  writeFileSync(file, tls);
  t.true((await due()).every((line) => line.endsWith(': by hand')));
});
