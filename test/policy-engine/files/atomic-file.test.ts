import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  createFile,
  createFileSync,
  type FileCalls,
  promisedCalls,
  replaceFile,
  replaceFileSync,
  syncCalls,
  syncDirectory,
  syncDirectorySync,
  temporaryName,
} from '@signet/policy-engine/internal/files';
import test from 'ava';
import { temporaryFolder } from '#support/temp';
import { watchedCalls } from '#support/watched-calls';

/* A file is the old one or the new one at every instant: both forms of both functions, with each call that may fail. */

type Before = (call: string) => void;

/** Temporary names without their random part. */
const named = (path: string) => basename(path).replace(/^\.(.+)\.[0-9a-f]{16}\.tmp$/, 'new $1');

const systemError = (code: string) => Object.assign(new Error(code), { code });

const forms = {
  replaceFile: (path: string, before: Before, mode: number) =>
    replaceFile(path, 'new', { mode, calls: watchedCalls(promisedCalls(), named, before) }),
  replaceFileSync: async (path: string, before: Before, mode: number) =>
    replaceFileSync(path, 'new', { mode, calls: watchedCalls(syncCalls(), named, before) }),
  createFile: (path: string, before: Before, mode: number) =>
    createFile(path, 'new', { mode, calls: watchedCalls(promisedCalls(), named, before) }),
  createFileSync: async (path: string, before: Before, mode: number) =>
    createFileSync(path, 'new', { mode, calls: watchedCalls(syncCalls(), named, before) }),
};

const nothing = () => undefined;

for (const [form, write] of Object.entries(forms)) {
  const creates = form.startsWith('create');
  const put = creates ? 'link a' : 'rename a';
  const steps = [
    'create new a',
    'write new a',
    'chmod new a',
    'sync new a',
    'close new a',
    put,
    ...(creates ? ['remove new a'] : []),
    'sync directory',
  ];

  test(`${form} makes these calls`, async (t) => {
    const calls: string[] = [];
    await write(join(temporaryFolder(t), 'a'), (call) => void calls.push(call), 0o640);
    t.deepEqual(calls, steps);
  });

  test(`${form}: the file has the mode, whatever the umask`, async (t) => {
    for (const mode of [0o600, 0o644, 0o666]) {
      const file = join(temporaryFolder(t), 'a');
      await write(file, nothing, mode);
      t.is(statSync(file).mode & 0o7777, mode);
      t.is(readFileSync(file, 'utf8'), 'new');
    }
  });

  for (const [index, step] of steps.entries()) {
    const isPut = index > steps.indexOf(put);
    // a temporary file that cannot be removed is beside a file that is complete
    const isTold = step !== 'remove new a';

    test(`${form}: a failure at "${step}" leaves the old content or the new, and no temporary file`, async (t) => {
      const folder = temporaryFolder(t);
      const file = join(folder, 'a');
      if (!creates) writeFileSync(file, 'old');
      const before: Before = (call) => {
        if (call === step) throw systemError('EIO');
      };
      if (isTold) await t.throwsAsync(write(file, before, 0o644), { message: 'EIO' });
      else await write(file, before, 0o644);
      const left = readdirSync(folder).filter((name) => name !== 'a');
      t.true(isTold ? left.length === 0 : left.every((name) => temporaryName.test(name)), left.join());
      if (creates) t.is(readdirSync(folder).includes('a'), isPut);
      if (!creates || isPut) t.is(readFileSync(file, 'utf8'), isPut ? 'new' : 'old');
    });

    test(`${form}: a process that ends at "${step}" leaves the old content or the new, and at most one other`, async (t) => {
      const folder = temporaryFolder(t);
      const file = join(folder, 'a');
      if (!creates) writeFileSync(file, 'old');
      let hasEnded = false;
      const before: Before = (call) => {
        hasEnded ||= call === step;
        // from here on nothing reaches the disk any more
        if (hasEnded) throw systemError('EKILLED');
      };
      await t.throwsAsync(write(file, before, 0o644), { message: 'EKILLED' });
      if (!creates || isPut) t.is(readFileSync(file, 'utf8'), isPut ? 'new' : 'old');
      const left = readdirSync(folder).filter((name) => name !== 'a');
      t.true(left.length <= 1 && left.every((name) => temporaryName.test(name)), left.join());
    });
  }

  test(`${form} writes through no link at the temporary name, and leaves it`, async (t) => {
    const folder = temporaryFolder(t);
    const target = join(folder, 'target');
    writeFileSync(target, 'precious');
    const planting = <Done>(calls: FileCalls<Done>): FileCalls<Done> => ({
      ...calls,
      create: (path, mode) => {
        symlinkSync(target, path);
        return calls.create(path, mode);
      },
    });
    const write = {
      replaceFile: () => replaceFile(join(folder, 'a'), 'new', { mode: 0o600, calls: planting(promisedCalls()) }),
      replaceFileSync: async () =>
        replaceFileSync(join(folder, 'a'), 'new', { mode: 0o600, calls: planting(syncCalls()) }),
      createFile: () => createFile(join(folder, 'a'), 'new', { mode: 0o600, calls: planting(promisedCalls()) }),
      createFileSync: async () =>
        createFileSync(join(folder, 'a'), 'new', { mode: 0o600, calls: planting(syncCalls()) }),
    }[form];
    t.like(await t.throwsAsync(write ?? (async () => undefined)), { code: 'EEXIST' });
    t.is(readFileSync(target, 'utf8'), 'precious');
    t.deepEqual(readdirSync(folder).map(named).toSorted(), ['new a', 'target']);
  });

  test(`${form}: what already has the name`, async (t) => {
    const folder = temporaryFolder(t);
    const [file, target] = [join(folder, 'a'), join(folder, 'target')];
    for (const plant of [
      () => {
        writeFileSync(file, 'old');
        chmodSync(file, 0o666);
      },
      () => {
        writeFileSync(target, 'precious');
        symlinkSync(target, file);
      },
      () => symlinkSync(join(folder, 'nowhere'), file),
    ]) {
      plant();
      const before = lstatSync(file);
      if (creates) {
        t.like(await t.throwsAsync(write(file, nothing, 0o600)), { code: 'EEXIST' });
        t.is(lstatSync(file).ino, before.ino);
      } else {
        await write(file, nothing, 0o600);
        t.true(lstatSync(file).isFile());
        t.is(lstatSync(file).mode & 0o777, 0o600);
        t.is(readFileSync(file, 'utf8'), 'new');
      }
      t.deepEqual(
        readdirSync(folder).filter((name) => temporaryName.test(name)),
        [],
      );
      rmSync(file);
    }
    t.is(readFileSync(target, 'utf8'), 'precious');
  });
}

test('of many that create a file at once, one does', async (t) => {
  const folder = temporaryFolder(t);
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => createFile(join(folder, 'a'), `${index}`, { mode: 0o600 })),
  );
  const [winner, ...more] = results.flatMap(({ status }, index) => (status === 'fulfilled' ? [`${index}`] : []));
  t.deepEqual(more, []);
  t.is(readFileSync(join(folder, 'a'), 'utf8'), winner ?? 'none');
  t.deepEqual(readdirSync(folder), ['a']);
});

test('a directory that is not there cannot be synced', async (t) => {
  const path = join(temporaryFolder(t), 'none');
  t.like(await t.throwsAsync(syncDirectory(path)), { code: 'ENOENT' });
  t.like(
    t.throws(() => syncDirectorySync(path)),
    { code: 'ENOENT' },
  );
});

(process.platform === 'linux' ? test : test.skip)('a directory that cannot be synced at all is no fault', async (t) => {
  await t.notThrowsAsync(syncDirectory('/proc'));
  t.notThrows(() => syncDirectorySync('/proc'));
});
