import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFileSystem } from '@signet/updater/files/file-system';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/* File facts and bounded reads of the machine's file system. */

test('facts are those of the thing itself; nothing is no fact, and what cannot be looked at is a failure', async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  writeFileSync(at('file'), 'x', { mode: 0o600 });
  mkdirSync(at('folder'));
  symlinkSync('file', at('link'));
  const uid = process.getuid?.() ?? 0;
  const file = await nodeFileSystem.facts(at('file'));
  t.like(file, { isFile: true, isDirectory: false, uid });
  t.is((file?.mode ?? 0) & 0o7777, 0o600);
  t.like(await nodeFileSystem.facts(at('folder')), { isFile: false, isDirectory: true });
  t.like(await nodeFileSystem.facts(at('link')), { isFile: false, isDirectory: false });
  t.is((await nodeFileSystem.facts(at('file')))?.identity, file?.identity);
  t.not((await nodeFileSystem.facts(at('link')))?.identity, file?.identity);
  t.is(await nodeFileSystem.facts(at('none')), undefined);
  await t.throwsAsync(nodeFileSystem.facts(at('file/none')), { code: 'ENOTDIR' } as never);
});

test('as much is read as is allowed, and no more', async (t) => {
  const file = join(temporaryFolder(t), 'file');
  for (const [size, limit, isRead] of [
    [0, 0, true],
    [1, 0, false],
    [100_000, 100_000, true],
    [100_001, 100_000, false],
  ] as const) {
    writeFileSync(file, 'x'.repeat(size));
    const open = await nodeFileSystem.openToRead(file);
    if (isRead) t.is((await open.read(limit)).length, size);
    else await t.throwsAsync(open.read(limit), { instanceOf: RangeError });
    await open.close();
  }
});

test('a directory that is made has its mode, one that is there keeps its own', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'a', 'b');
  await nodeFileSystem.makeDirectory(path, 0o775);
  t.is(statSync(path).mode & 0o777, 0o775);
  chmodSync(path, 0o700);
  await nodeFileSystem.makeDirectory(path, 0o775);
  t.is(statSync(path).mode & 0o777, 0o700);
});
