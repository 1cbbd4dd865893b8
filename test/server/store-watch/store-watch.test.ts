import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { judgeClock, watchStore } from '@signet/server/store-watch/store-watch';
import test from 'ava';
import Database from 'better-sqlite3';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';
import { operatorsDomain, readinessOf } from '#support/operators';
import { saveDomain } from '#support/save-domain';
import { type CallerOptions, caller, startServer } from '#support/start-server';

const minute = 60_000;
const now = 1_767_225_600_000;

test('a clock is judged by the newest record, and wrong only by a second witness too', (t) => {
  const cases: readonly (readonly [newest: number | undefined, offsetMs: number | undefined, state: string])[] = [
    [undefined, 90 * minute, 'fit'],
    [now + minute, 90 * minute, 'fit'],
    [now + minute + 1, undefined, 'degraded'],
    [now + minute + 1, minute, 'degraded'],
    [now + minute + 1, -minute, 'degraded'],
    [now + minute + 1, minute + 1, 'wrong'],
    [now + minute + 1, -minute - 1, 'wrong'],
    // A store that was not written for long says nothing against the clock.
    [now - 1000 * minute, 1000 * minute, 'fit'],
  ];
  for (const [newest, offsetMs, state] of cases) {
    t.is(judgeClock({ now, newest, offsetMs }).state, state as never, `${newest} ${offsetMs}`);
  }
});

test('a clock ahead of that of the database is wrong, also without any record', (t) => {
  const cases: readonly (readonly [aheadMs: number, offsetMs: number, state: string])[] = [
    [minute, -minute, 'fit'],
    [minute + 1, -minute - 1, 'wrong'],
    [90 * minute, -90 * minute, 'wrong'],
    // It was put right since the last look.
    [90 * minute, 0, 'fit'],
    // The machine slept since the last look.
    [0, -90 * minute, 'fit'],
  ];
  for (const [aheadMs, offsetMs, state] of cases) {
    const judged = judgeClock({ now, newest: undefined, offsetMs, aheadMs });
    t.is(judged.state, state as never, `${aheadMs} ${offsetMs}`);
    t.is(judged.witness, state === 'wrong' ? 'database' : undefined);
  }
});

/** A server on a clock and a time since its start that only the test moves. */
async function world(t: Parameters<typeof startServer>[0]) {
  const clock = new FakeClock(now);
  const time = { passed: 0 };
  const server = await startServer(t, {
    clock,
    monotonic: () => time.passed,
    domains: [{ name: 'a' }, operatorsDomain],
  });
  const as = (who?: CallerOptions) => caller(t, server, who);
  const ready = async () => {
    await server.running.refresh();
    return readinessOf({ as }, server.pki);
  };
  const pass = (milliseconds: number) => {
    clock.advance(milliseconds);
    time.passed += milliseconds;
  };
  return { clock, server, ready, pass };
}

test('a clock that is set back by 60 seconds is tolerated, by one millisecond more it is not', async (t) => {
  const { clock, server, ready, pass } = await world(t);
  pass(10 * minute);
  await server.save({ name: 'late' });
  clock.advance(-minute);
  t.like(await ready(), { code: 200, status: 'ready', degraded: undefined });
  clock.advance(-1);
  t.like(await ready(), { code: 503, status: 'clock', clock: 'wrong' });
  // What it writes by the clock that is in doubt proves nothing for it.
  await server.save({ name: 'b' });
  t.like(await ready(), { code: 503, status: 'clock', clock: 'wrong' });
  clock.advance(1);
  t.like(await ready(), { code: 200, status: 'ready', degraded: undefined });
  await server.save({ name: 'c' });
  t.like(await ready(), { code: 200, status: 'ready', degraded: undefined });
  clock.advance(-2 * minute);
  t.like(await ready(), { code: 503, status: 'clock' });
  pass(minute);
  t.like(await ready(), { code: 200, status: 'ready' }, 'the time of the record has come');
  await server.save({ name: 'd' });
  clock.advance(-minute - 1);
  t.like(await ready(), { code: 503, status: 'clock' }, 'it was written by a clock without doubt');
});

test('an operator may say that the clock is right, and only an operator', async (t) => {
  const { clock, server, ready, pass } = await world(t);
  pass(10 * minute);
  clock.advance(90 * minute);
  await server.save({ name: 'ahead' });
  clock.advance(-90 * minute);
  t.like(await ready(), { code: 503, status: 'clock' });
  const file = join(server.folder, 'signet.db');
  const saveBy = async (acceptsClock: boolean) => {
    const store = await openSqliteStore(file, { clock, acceptsClock });
    await store.change({ actor: 'test' }, (change) => change.acceptClock());
    const [record] = await store.audit({ limit: 1 });
    t.is(record?.action, 'accept-clock');
    await store.close();
  };
  await saveBy(false);
  t.like(await ready(), { code: 503, status: 'clock' }, 'another process of this machine has the same clock');
  await saveBy(true);
  t.like(await ready(), { code: 200, status: 'ready', degraded: undefined });
  await server.save({ name: 'b' });
  clock.advance(-2 * minute);
  t.like(await ready(), { code: 503, status: 'clock' }, 'what it writes from now on is its witness again');
});

test('a server that has not written for long is ready, and so is one whose clock was set on', async (t) => {
  const { clock, ready, pass } = await world(t);
  pass(1000 * minute);
  t.like(await ready(), { code: 200, degraded: undefined });
  clock.advance(120 * minute);
  t.like(await ready(), { code: 200, degraded: undefined });
});

test('the wrong clock of another server makes no other unready', async (t) => {
  const clock = new FakeClock(now);
  const own = { wall: now - minute, monotonic: 0 };
  let newest = { at: now + 120 * minute, own: false };
  let wrote: typeof own | undefined = own;
  const watch = await watchStore({
    store: {
      condition: () => 'writable',
      tryWriting: async () => 'writable',
      newestRecord: async () => newest,
      lastWritten: () => wrote,
      aheadOfDatabase: () => undefined,
    },
    clock,
    monotonic: () => minute,
    refreshIntervalMs: 1000,
    onCondition: () => undefined,
  });
  t.teardown(() => watch.close());
  t.is(watch.clock().state, 'degraded');
  wrote = undefined;
  t.is(watch.clock().state, 'degraded', 'one that has written nothing');
  // Written by the process before this one.
  newest = { at: now + minute + 1, own: true };
  await watch.refresh();
  t.is(watch.clock().state, 'wrong');
  newest = { at: now + minute, own: true };
  await watch.refresh();
  t.is(watch.clock().state, 'fit');
});

test('what a server writes by itself while it starts does not make the clock of its start right', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-clock-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'signet.db');
  const before = await openSqliteStore(file, { clock: new FakeClock(now) });
  await before.change({ actor: 'test' }, (change) => saveDomain(change, domainContent({ name: 'a' })));
  await before.close();
  for (const [wall, state] of [
    [now - minute, 'fit'],
    [now - minute - 1, 'wrong'],
  ] as const) {
    const clock = new FakeClock(wall);
    let hasStarted = false;
    const store = await openSqliteStore(file, { clock, monotonic: () => 0, tellsTime: () => hasStarted });
    const save = (name: string) =>
      store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent({ name })));
    await save(`start.${state}`);
    const onCondition = () => undefined;
    const watch = await watchStore({ store, clock, monotonic: () => 0, refreshIntervalMs: 60_000, onCondition });
    t.is(watch.clock().state, state);
    hasStarted = true;
    if (state === 'wrong') {
      await save('served');
      await watch.refresh();
      t.is(watch.clock().state, 'wrong', 'its own records say nothing of it');
      clock.advance(1);
      t.is(watch.clock().state, 'fit', 'as soon as it agrees with the record of before');
    }
    await watch.close();
    await store.close();
  }
});

test('a store that cannot be written is said once, tried again, and said to be back', async (t) => {
  let condition: 'writable' | 'read-only' = 'read-only';
  let tries = 0;
  const said: string[] = [];
  const watch = await watchStore({
    store: {
      condition: () => condition,
      tryWriting: async () => {
        tries += 1;
        return condition;
      },
      newestRecord: async () => undefined,
      lastWritten: () => undefined,
      aheadOfDatabase: () => undefined,
    },
    clock: new FakeClock(),
    monotonic: () => 0,
    refreshIntervalMs: 60_000,
    onCondition: (each) => said.push(each),
  });
  t.teardown(() => watch.close());
  await watch.refresh();
  t.deepEqual([said, tries], [['read-only'], 3]);
  condition = 'writable';
  await watch.refresh();
  await watch.refresh();
  t.deepEqual([said, tries], [['read-only', 'writable'], 3]);
});

test('a server certificate that has expired takes the server out of service', async (t) => {
  const { server, ready, pass } = await world(t);
  const leaf = new X509Certificate(readFileSync(join(server.folder, 'server.cert.pem')));
  pass(leaf.validToDate.getTime() - now - 1);
  t.like(await ready(), { code: 200, status: 'ready', certificate: { status: 'late' } });
  pass(1);
  t.like(await ready(), { code: 503, status: 'certificate-expired', certificate: { status: 'ended' } });
});

test('what other servers write does not take the witness of a clock that was set back away', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-clock-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'signet.db');
  const clock = new FakeClock(now);
  const monotonic = () => 0;
  const save = (store: Store, name: string) =>
    store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent({ name })));
  const before = await openSqliteStore(file, { clock });
  await save(before, 'a');
  await before.close();
  clock.advance(-5 * minute);
  const store = await openSqliteStore(file, { clock, monotonic });
  const watch = await watchStore({ store, clock, monotonic, refreshIntervalMs: 60_000, onCondition: () => undefined });
  t.is(watch.clock().state, 'wrong');
  // A server of another machine, whose clock is right.
  const database = new Database(file);
  const others = database.prepare("update meta set written_at = ?, written_by = 'elsewhere/1'");
  others.run(now);
  await watch.refresh();
  t.is(watch.clock().state, 'wrong', 'both say so');
  await save(store, 'b');
  await watch.refresh();
  t.is(watch.clock().state, 'wrong', 'its own record is none against that of the other');
  // One whose clock is wrong, too, and agrees: no two witnesses are left.
  others.run(now - 5 * minute);
  await watch.refresh();
  t.is(watch.clock().state, 'fit');
  database.close();
  await watch.close();
  await store.close();
});
