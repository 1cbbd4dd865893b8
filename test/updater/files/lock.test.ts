import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileFacts, type FileSystem, nodeFileSystem } from '@signet/updater/files/file-system';
import { lockDirectory, lockName } from '@signet/updater/files/lock';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/* The lock on a policy directory where the file changes under it. */

/** A folder and a file system whose answers about the lock come from `look`, which gets the number of the look and the truth. */
function world(t: ExecutionContext, look: (count: number, facts: FileFacts | undefined) => FileFacts | undefined) {
  const folder = temporaryFolder(t);
  const state = { looks: 0 };
  const files: FileSystem = {
    ...nodeFileSystem,
    facts: async (path) => {
      state.looks += 1;
      return look(state.looks, await nodeFileSystem.facts(path));
    },
  };
  return { folder, file: join(folder, lockName), files, state, lock: () => lockDirectory(folder, files) };
}

const truth = (_: number, facts: FileFacts | undefined) => facts;

test('a lock is in place until it is given back, which may be done twice', async (t) => {
  const { lock } = world(t, truth);
  const held = await lock();
  t.true(await held.isInPlace());
  await held[Symbol.asyncDispose]();
  t.false(await held.isInPlace());
  await t.notThrowsAsync(held[Symbol.asyncDispose]() as Promise<void>);
  await using next = await lock();
  t.true(await next.isInPlace());
});

test('a lock is out of place when its file is gone or another has its name', async (t) => {
  const { file, lock } = world(t, truth);
  await using held = await lock();
  renameSync(file, `${file}.away`);
  t.false(await held.isInPlace());
  writeFileSync(file, '');
  t.false(await held.isInPlace());
  rmSync(file);
  renameSync(`${file}.away`, file);
  t.true(await held.isInPlace());
});

test('a file that somebody else makes at the same time is locked as well', async (t) => {
  const { file, lock } = world(t, (count, facts) => (count === 1 ? undefined : facts));
  writeFileSync(file, '');
  await using held = await lock();
  t.true(await held.isInPlace());
});

// Looks: is it a plain file; which one it is before it is locked; which one it is after that.
test('another file that comes into its place while it is locked is locked in its stead', async (t) => {
  const { lock, state } = world(t, (count, facts) => (count === 3 && facts ? { ...facts, identity: 'other' } : facts));
  await using held = await lock();
  t.is(state.looks, 6);
  t.true(await held.isInPlace());
});

for (const [note, look, looks] of [
  ['replaced', (count: number, facts: FileFacts | undefined) => facts && { ...facts, identity: String(count) }, 15],
  ['gone', () => undefined, 10],
] as const) {
  test(`a file that is ${note} each time is given up after five times, and is not kept locked`, async (t) => {
    const { folder, lock, state } = world(t, look);
    await t.throwsAsync(lock(), { code: 'locked', message: /is in use by another updater/ } as never);
    t.is(state.looks, looks);
    await using held = await lockDirectory(folder, nodeFileSystem);
    t.true(await held.isInPlace());
  });
}

const failing = (error: Error): Partial<FileSystem> => ({
  newFile: () => ({ ...nodeFileSystem.newFile(), create: () => Promise.reject(error) }),
});

const broken: [note: string, spoil: (file: string) => Partial<FileSystem>, message: RegExp][] = [
  [
    'what is no database',
    (file) => {
      writeFileSync(file, 'no lock of ours');
      return {};
    },
    /\(file is not a database\)$/,
  ],
  [
    'a disk that cannot be written',
    () => failing(Object.assign(new Error('read-only'), { code: 'EROFS' })),
    /\(EROFS\)$/,
  ],
  ['what fails without a code', () => failing(new Error('odd')), /\(failed\)$/],
];
for (const [note, spoil, message] of broken) {
  test(`why a directory cannot be locked: ${note}`, async (t) => {
    const folder = temporaryFolder(t);
    const files = { ...nodeFileSystem, ...spoil(join(folder, lockName)) };
    await t.throwsAsync(lockDirectory(folder, files), { code: 'storage', message } as never);
    t.is(existsSync(join(folder, lockName)), note === 'what is no database');
  });
}
