import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '@signet/server/store/sqlite/open';
import { judgeClock, watchStore } from '@signet/server/store-watch';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';
import { caller, startServer } from '#support/start-server';

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
    t.is(judgeClock({ now, newest, offsetMs }), state as never, `${newest} ${offsetMs}`);
  }
});

/** A server on a clock and a time since its start that only the test moves. */
async function world(t: Parameters<typeof startServer>[0]) {
  const clock = new FakeClock(now);
  const time = { passed: 0 };
  const server = await startServer(t, { clock, monotonic: () => time.passed, domains: [{ name: 'a' }] });
  const call = caller(t, server);
  const ready = async () => {
    await server.running.refresh();
    const { status, body } = await call('^/readyz');
    return { ...(body as Record<string, unknown>), code: status };
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
  t.like(await ready(), { code: 503, status: 'clock', degraded: 'clock' });
  // What it writes now is the newest record: nothing says any more which of the two was right.
  await server.save({ name: 'b' });
  t.like(await ready(), { code: 200, status: 'ready', degraded: undefined });
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
    },
    clock,
    monotonic: () => minute,
    refreshIntervalMs: 1000,
    onCondition: () => undefined,
  });
  t.teardown(() => watch.close());
  t.is(watch.clock(), 'degraded');
  wrote = undefined;
  t.is(watch.clock(), 'degraded', 'one that has written nothing');
  // Written by the process before this one.
  newest = { at: now + minute + 1, own: true };
  await watch.refresh();
  t.is(watch.clock(), 'wrong');
  newest = { at: now + minute, own: true };
  await watch.refresh();
  t.is(watch.clock(), 'fit');
});

test('what a server writes by itself while it starts does not make the clock of its start right', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signet-clock-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'signet.db');
  const before = await openSqliteStore(file, { clock: new FakeClock(now) });
  await before.change({ actor: 'test' }, (change) => change.saveDomain(domainContent({ name: 'a' })));
  await before.close();
  for (const [wall, state] of [
    [now - minute, 'fit'],
    [now - minute - 1, 'wrong'],
  ] as const) {
    const clock = new FakeClock(wall);
    let hasStarted = false;
    const store = await openSqliteStore(file, { clock, tellsTime: () => hasStarted });
    const save = (name: string) =>
      store.change({ actor: 'test' }, (change) => change.saveDomain(domainContent({ name })));
    await save(`start.${state}`);
    const onCondition = () => undefined;
    const watch = await watchStore({ store, clock, monotonic: () => 0, refreshIntervalMs: 60_000, onCondition });
    t.is(watch.clock(), state);
    hasStarted = true;
    if (state === 'wrong') {
      await save('served');
      await watch.refresh();
      t.is(watch.clock(), 'fit', 'the first change that is acknowledged decides');
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
