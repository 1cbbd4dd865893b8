import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { replacedCommand } from '@signet/server/cli/store-replaced';
import { findLeftovers, removeLeftovers } from '@signet/server/store/leftovers';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

const kid = 'k'.repeat(43);
const leftovers = [
  'signet.db.replaced-1',
  'signet.db.replaced-1700000000',
  'signet.db.replaced-7.2',
  'signet.db.replaced-7.2-wal',
  'postgres-restore.db.replaced-8',
  'signet.db.restore-4711',
  'signet.db.restore-4711-journal',
  'postgres-restore.db',
  'postgres-restore.db-shm',
  'postgres-restore.db.witness',
];
const others = [
  'signet.db',
  'signet.db-wal',
  'signet.db-shm',
  'signet.db.witness',
  'signet.db.replaced',
  'signet.db.replaced-',
  'signet.db.replaced-1.bak',
  'signet.db.replaced-1-wal2',
  'my-signet.db.replaced-1',
  'other.db.replaced-1',
  'SIGNET.db.replaced-1',
  'films.backup',
  '.signet.yaml.0123456789abcdef.tmp',
];
const ofKeys = [`.${kid}.pem.0123456789abcdef.tmp`, '.backup-seal.key.0123456789abcdef.tmp'];
const keys = [`${kid}.pem`, 'backup-seal.key', `.${kid}.pem.tmp`, `.short.pem.0123456789abcdef.tmp`];

function folderOf(t: ExecutionContext): string {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'keys'));
  for (const name of [...leftovers, ...others]) writeFileSync(join(folder, name), name);
  for (const name of [...ofKeys, ...keys]) writeFileSync(join(folder, 'keys', name), name);
  return folder;
}

const namesOf = (found: ReturnType<typeof findLeftovers>) => found.map(({ file }) => basename(file)).sort();
const future = systemClock.now() + 86_400_000;

test('what restores and killed processes leave is found by exactly its names, and nothing else is removed', (t) => {
  const folder = folderOf(t);
  const found = findLeftovers(folder);
  t.deepEqual(namesOf(found), [...leftovers, ...ofKeys].sort());
  for (const { file, kind, bytes } of found) {
    t.is(kind, file.includes('.replaced-') ? 'replaced' : 'unfinished', file);
    t.is(bytes, basename(file).length);
  }
  t.deepEqual(removeLeftovers(folder, found[0]?.since ?? 0), [], 'not before their time');
  t.deepEqual(namesOf(removeLeftovers(folder, future)), [...leftovers, ...ofKeys].sort());
  t.deepEqual(readdirSync(folder).sort(), [...others, 'keys'].sort());
  t.deepEqual(readdirSync(join(folder, 'keys')).sort(), [...keys].sort());
  t.deepEqual(findLeftovers(folder), []);
});

test('links, folders and the store of now under a second name stay', (t) => {
  const folder = temporaryFolder(t);
  const elsewhere = temporaryFolder(t);
  writeFileSync(join(folder, 'signet.db'), 'the store');
  linkSync(join(folder, 'signet.db'), join(folder, 'signet.db.replaced-2'));
  writeFileSync(join(elsewhere, 'signet.db.replaced-3'), 'of somebody else');
  symlinkSync(join(elsewhere, 'signet.db.replaced-3'), join(folder, 'signet.db.replaced-3'));
  mkdirSync(join(folder, 'signet.db.replaced-4'));
  writeFileSync(join(elsewhere, ofKeys[0] ?? ''), 'a key of somebody else');
  symlinkSync(elsewhere, join(folder, 'keys'));
  const before = [readdirSync(folder), readdirSync(elsewhere)];
  t.deepEqual(removeLeftovers(folder, future), []);
  t.deepEqual([readdirSync(folder), readdirSync(elsewhere)], before);
});

test('a folder that is not there has none', (t) => {
  t.deepEqual(findLeftovers(join(temporaryFolder(t), 'data')), []);
});

test('an age is in days, and at least one', async (t) => {
  for (const age of ['0d', '30', '-1d', '12h', '10000d', '1.5d', '']) {
    const command = replacedCommand()
      .exitOverride()
      .configureOutput({ writeErr: () => undefined });
    const parsed = command.parseAsync(['--remove-older-than', age], { from: 'user' });
    await t.throwsAsync(parsed, { message: /must be days from 1d to 9999d/ }, age);
  }
});
