import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

/* Backups, restores and first starts in processes of their own: killed at random moments (SIGNET_KILLS says how many), or several at once. */

const points = Number(process.env['SIGNET_KILLS'] ?? 3);
const by = { actor: 'test' };
const sealKey = Buffer.alloc(32, 7);

/** Runs `code` as a module of its own, with what it imports by the names of packages. */
function run(
  t: ExecutionContext,
  folder: string,
  name: string,
  code: string,
  ...args: readonly string[]
): ChildProcess {
  const script = join(folder, `${name}.ts`);
  writeFileSync(
    script,
    code.replaceAll(/from '([@#][^']*)'/g, (_, path) => `from '${import.meta.resolve(path)}'`),
  );
  const child = spawn(process.execPath, ['--conditions=@signet/source', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  return child;
}

/** The first line of standard output. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('no output');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return String(line);
}

const backUp = `
  import { backUpStore } from '@signet/server/store/sqlite/backup';
  const [, , file, target] = process.argv;
  process.stdout.write('begins\\n');
  process.stdout.write((await backUpStore(file, target, Buffer.alloc(32, 7))) + '\\n');
`;

const restore = `
  import { systemClock } from '@signet/policy-engine/clock';
  import { restoreStore } from '@signet/server/store/sqlite/restore';
  const [, , file, backup] = process.argv;
  process.stdout.write('begins\\n');
  await restoreStore(file, backup, { clock: systemClock, context: { actor: 'test' }, proof: { sealKey: Buffer.alloc(32, 7) } });
`;

async function bigStore(t: ExecutionContext): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const store = await openSqliteStore(file);
  const members = Array.from({ length: 5000 }, (_, index) => `media.service-with-a-name-${index}`);
  await store.change(by, async (change) => {
    for (const name of ['a', 'b']) await saveDomain(change, domainContent(name, { roles: { r: members } }));
  });
  await store.close();
  return { folder, file };
}

/** Kills the process within its undisturbed duration, so that kills fall into the whole of it. */
async function killedWithin(child: ChildProcess, longestMs: number): Promise<void> {
  await firstLine(child);
  const ended = once(child, 'close');
  await pause(Math.random() * longestMs);
  child.kill('SIGKILL');
  await ended;
}

async function lasting(child: ChildProcess): Promise<number> {
  await firstLine(child);
  const begun = performance.now();
  await once(child, 'close');
  return performance.now() - begun;
}

test('a backup that is killed leaves no file of its name, or a whole one', async (t) => {
  const { folder, file } = await bigStore(t);
  const target = join(folder, 'backup');
  const longest = await lasting(run(t, folder, 'backup', backUp, file, target));
  const { digest } = await checkStore(target);
  let whole = 0;
  for (let point = 0; point < points; point += 1) {
    rmSync(target, { force: true });
    await killedWithin(run(t, folder, 'backup', backUp, file, target), longest * 1.2);
    if (!existsSync(target)) continue;
    whole += 1;
    t.is((await checkStore(target)).digest, digest);
  }
  t.log(`${points} kills, ${whole} after the end`);
  rmSync(target, { force: true });
  t.is(await backUpStore(file, target, sealKey), digest);
});

test('a restore that is killed leaves the old store or the new one', async (t) => {
  const { folder, file } = await bigStore(t);
  const backup = join(folder, 'backup');
  await backUpStore(file, backup, sealKey);
  const store = await openSqliteStore(file);
  await store.change(by, (change) => saveDomain(change, domainContent('later')));
  await store.close();
  const kept = join(folder, 'kept');
  await backUpStore(file, kept, sealKey);
  const longest = await lasting(run(t, folder, 'restore', restore, file, backup));
  let replaced = 0;
  for (let point = 0; point < points; point += 1) {
    for (const name of readdirSync(folder)) if (name.startsWith('signet.db')) rmSync(join(folder, name));
    copyFileSync(kept, file);
    await killedWithin(run(t, folder, 'restore', restore, file, backup), longest * 1.2);
    const { faults, domains, epoch } = await checkStore(file);
    t.deepEqual(faults, []);
    t.true((epoch === 1 && domains === 3) || (epoch === 2 && domains === 2), `epoch ${epoch}, ${domains} domains`);
    if (epoch === 2) replaced += 1;
    const again = await openSqliteStore(file);
    t.is((await again.verifyAudit()).fault, undefined);
    await again.close();
  }
  t.log(`${points} kills, ${replaced} after the last step`);
});

/** Changes two domains at a time, as fast as it can; says how many changes a second it made and the slowest in a hundred. */
const writeOn = `
  import { setTimeout as pause } from 'node:timers/promises';
  import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
  import { domainContent } from '#support/domains';
  import { saveDomain } from '#support/save-domain';
  const [, , file, everyMs] = process.argv;
  const store = await openSqliteStore(file);
  const took = [];
  let [n, stopped] = [0, false];
  process.on('SIGTERM', () => { stopped = true; });
  process.stdout.write('begins\\n');
  const begun = performance.now();
  while (!stopped) {
    n += 1;
    const start = performance.now();
    await store.change({ actor: 'writer' }, async (change) => {
      for (const name of ['one', 'two']) await saveDomain(change, domainContent(name, { roles: { r: ['media.n' + n] } }));
    });
    took.push(performance.now() - start);
    await pause(Math.max(0, begun + n * Number(everyMs) - performance.now()));
  }
  took.sort((a, b) => a - b);
  const p99 = took[Math.floor(took.length * 0.99)];
  process.stdout.write(JSON.stringify({ n, perSecond: n / (performance.now() - begun) * 1000, p99 }) + '\\n');
  await store.close();
`;

test('a backup while another process writes is the store at one instant', async (t) => {
  const { folder, file } = await bigStore(t);
  const writer = run(t, folder, 'write', writeOn, file, '3');
  const lines = createInterface({ input: writer.stdout ?? process.stdin })[Symbol.asyncIterator]();
  await lines.next();
  const digests: string[] = [];
  for (const name of ['b1', 'b2', 'b3']) {
    const child = run(t, folder, 'backup', backUp, file, join(folder, name));
    t.deepEqual(await once(child, 'close'), [0, null]);
    const { faults, counter, auditRecords, digest } = await checkStore(join(folder, name));
    t.deepEqual(faults, []);
    digests.push(digest);
    // The first change made two domains, as each that follows.
    t.is(auditRecords, 2 * counter);
    const database = new Database(join(folder, name), { readonly: true });
    const members = "select domain, member from members where domain in ('one', 'two') order by domain";
    const rows = database.prepare(members).all();
    database.close();
    t.deepEqual(
      rows,
      ['one', 'two'].map((domain) => ({ domain, member: `media.n${counter - 1}` })),
    );
  }
  writer.kill('SIGTERM');
  t.log((await lines.next()).value);
  t.is(new Set(digests).size, 3);
});

/** On a busy machine another process may have the lock for longer than it is waited for; whoever supervises starts it again then. */
const open = `
  import { StoreUnavailableError } from '@signet/server/errors';
  import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
  const [, , file, name] = process.argv;
  process.stdout.write('begins\\n');
  const start = () => openSqliteStore(file).catch((error) => {
    if (error instanceof StoreUnavailableError && error.message === 'the store is locked by another writer') return start();
    throw error;
  });
  const store = await start();
  await store.change({ actor: name }, async () => undefined);
  await store.close();
`;

test('of several processes that begin on a new store at once, one makes it and the others find it made', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const children = ['a', 'b', 'c', 'd'].map((name) => run(t, folder, `open-${name}`, open, file, name));
  const ended = await Promise.all(children.map((child) => once(child, 'close')));
  t.deepEqual(
    ended,
    children.map(() => [0, null]),
  );
  const { faults, epoch, counter } = await checkStore(file);
  t.deepEqual([faults, epoch, counter], [[], 1, 0]);
});

test('a first start that is killed is done again by the next one', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const longest = await lasting(run(t, folder, 'open', open, file, 'x'));
  for (let point = 0; point < points; point += 1) {
    for (const name of readdirSync(folder)) if (name.startsWith('signet.db')) rmSync(join(folder, name));
    await killedWithin(run(t, folder, 'open', open, file, 'x'), longest);
    const store = await openSqliteStore(file);
    await store.close();
    t.deepEqual((await checkStore(file)).faults, []);
  }
});
