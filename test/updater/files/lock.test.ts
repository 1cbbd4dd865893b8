import { spawnSync } from 'node:child_process';
import { type DirectoryLock, lockDirectory } from '@signet/updater/files/lock';
import test from 'ava';
import { systemError } from '../support/faulty-files.ts';

/* Who gets a directory: every answer of the file system, and every way in which two can meet, in memory. */

const lock = '/d/.updater.lock';
/** A process that has ended. */
const gone = spawnSync(process.execPath, ['--version']).pid;

/** A file system of one folder, in which `before` may do what another process does just before a call. */
function folder(
  content: Record<string, string> = {},
  before: (call: string, files: Map<string, string>) => void = () => {},
) {
  const files = new Map(Object.entries(content));
  const call = (name: string) => before(name, files);
  const taken = (path: string) => {
    const found = files.get(path);
    if (found === undefined) throw systemError('ENOENT');
    return found;
  };
  const system = {
    create: async (path: string) => ({
      write: async (bytes: Uint8Array) => {
        files.set(path, Buffer.from(bytes).toString());
        call('write');
      },
      close: async () => {},
    }),
    openToRead: async (path: string) => {
      call('read');
      const text = taken(path);
      return { read: async () => Buffer.from(text), close: async () => {} };
    },
    link: async (existing: string, name: string) => {
      call('link');
      if (files.has(name)) throw systemError('EEXIST');
      files.set(name, taken(existing));
    },
    rename: async (from: string, to: string) => {
      call('rename');
      files.set(to, taken(from));
      files.delete(from);
    },
    remove: async (path: string) => {
      if (!files.delete(path)) throw systemError('ENOENT');
    },
  };
  return { files, lock: (): Promise<DirectoryLock> => lockDirectory('/d', system as never) };
}

const inUse = { code: 'locked', message: `policy directory \`/d\` is in use by updater process ${process.pid}` };

test('a free directory is taken, and given back', async (t) => {
  const { files, lock: take } = folder();
  const held = await take();
  t.deepEqual([...files.keys()], [lock]);
  t.regex(files.get(lock) ?? '', new RegExp(`^${process.pid} `));
  await t.throwsAsync(take(), inUse as never);
  await held[Symbol.asyncDispose]();
  t.deepEqual([...files.keys()], []);
  await held[Symbol.asyncDispose]();
});

const left: [note: string, content: string][] = [
  ['of a process that has ended', `${gone} \n`],
  ['of a process that had the number before', `${process.pid} another-start\n`],
  ['that is empty', ''],
  ['that is no number', 'x y\n'],
  ['of number nought', '0 \n'],
  ['of a number that is too long', '12345678901 \n'],
];
for (const [note, content] of left) {
  test(`a lock ${note} is taken over`, async (t) => {
    const { files, lock: take } = folder({ [lock]: content });
    await take();
    t.deepEqual([...files.keys()], [lock]);
    t.regex(files.get(lock) ?? '', new RegExp(`^${process.pid} `));
  });
}

test('a lock of a process that lives holds, also without its start', async (t) => {
  await t.throwsAsync(folder({ [lock]: `${process.pid} \n` }).lock(), inUse as never);
});

const met: [note: string, stale: string, quicker: string][] = [
  ['of another process', `${gone} \n`, `${process.pid} \n`],
  ['of the same number and another start', `${process.pid} old\n`, `${process.pid} \n`],
  ['where none could be read', '', `${process.pid} \n`],
];
for (const [note, stale, quicker] of met) {
  test(`who was quicker keeps the directory: a lock ${note}`, async (t) => {
    let isFirst = true;
    const { files, lock: take } = folder({ [lock]: stale }, (call, present) => {
      if (call !== 'rename' || !isFirst) return;
      isFirst = false;
      present.set(lock, quicker);
    });
    await t.throwsAsync(take(), inUse as never);
    t.deepEqual([...files], [[lock, quicker]]);
  });
}

test('a lock that goes away meanwhile is no hindrance', async (t) => {
  for (const moment of ['read', 'rename']) {
    let isFirst = true;
    const { lock: take } = folder({ [lock]: `${gone} \n` }, (call, present) => {
      if (call === moment && isFirst) {
        isFirst = false;
        present.delete(lock);
      }
    });
    await t.notThrowsAsync(take(), moment);
  }
});

test('after five tries the others have it', async (t) => {
  let tries = 0;
  const { lock: take } = folder({}, (call, present) => {
    if (call === 'link') present.set(lock, `${gone} \n`);
    if (call === 'link') tries += 1;
    if (call === 'read') present.delete(lock);
  });
  await t.throwsAsync(take(), { code: 'locked', message: 'policy directory `/d` is being locked by others' } as never);
  t.is(tries, 5);
});

for (const call of ['write', 'link', 'rename']) {
  test(`a file system that refuses at ${call} is told`, async (t) => {
    const { files, lock: take } = folder({ [lock]: `${gone} \n` }, (name) => {
      if (name === call) throw systemError('EIO');
    });
    const told = { code: 'storage', message: 'cannot lock policy directory `/d` (EIO)' };
    await t.throwsAsync(take(), told as never);
    t.is(files.get(lock), `${gone} \n`);
  });
}
