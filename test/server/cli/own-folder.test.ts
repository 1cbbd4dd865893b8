import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { refuseOthersFolder, refuseSwappablePlace } from '@signet/server/cli/own-folder';
import { UsageError } from '@signet/server/cli/usage-error';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

function folderIn(t: ExecutionContext, mode: number, owner?: number): string {
  const folder = join(temporaryFolder(t), 'one');
  mkdirSync(folder);
  chmodSync(folder, mode);
  if (owner !== undefined) chownSync(folder, owner, owner);
  return folder;
}

const refused = (message: RegExp) => ({ instanceOf: UsageError, message });
const changed = refused(/is writable by other users/);
const foreign = refused(/belongs to another user/);

test('a folder counts that nobody else can change', (t) => {
  for (const mode of [0o700, 0o755, 0o500, 0o1755]) t.notThrows(() => refuseOthersFolder(folderIn(t, mode), 'x'));
  for (const mode of [0o720, 0o702, 0o777, 0o1777, 0o2770]) {
    t.throws(() => refuseOthersFolder(folderIn(t, mode), 'x'), changed, mode.toString(8));
  }
  t.notThrows(() => refuseOthersFolder(join(temporaryFolder(t), 'none'), 'x'));
});

(isRoot ? test : test.skip)('a folder or a link of another user does not count', (t) => {
  const theirs = folderIn(t, 0o700, nobody);
  t.throws(() => refuseOthersFolder(theirs, 'ask him'), refused(/belongs to another user: ask him$/));
  const mine = folderIn(t, 0o700);
  const link = join(temporaryFolder(t), 'link');
  symlinkSync(mine, link);
  t.notThrows(() => refuseOthersFolder(link, 'x'));
  lchownSync(link, nobody, nobody);
  t.throws(() => refuseOthersFolder(link, 'x'), foreign);
  const toTheirs = join(temporaryFolder(t), 'link');
  symlinkSync(theirs, toTheirs);
  t.throws(() => refuseOthersFolder(toTheirs, 'x'), foreign);
});

test('a place counts where nobody else can swap what is on the way to it', (t) => {
  for (const mode of [0o700, 0o755, 0o1777, 0o1770]) {
    t.notThrows(() => refuseSwappablePlace(join(folderIn(t, mode), 'new', 'deep')), mode.toString(8));
  }
  for (const mode of [0o777, 0o707, 0o702]) {
    t.throws(() => refuseSwappablePlace(join(folderIn(t, mode), 'new', 'deep')), changed, mode.toString(8));
  }
  const open = folderIn(t, 0o777);
  mkdirSync(join(open, 'mine'), { mode: 0o700 });
  t.throws(() => refuseSwappablePlace(join(open, 'mine', 'new')), changed);
  const link = join(temporaryFolder(t), 'link');
  symlinkSync(join(open, 'mine'), link);
  t.throws(() => refuseSwappablePlace(join(link, 'new')), changed, 'behind a link');
});

test('a group may write above only where it is the own one of the user', (t) => {
  const folder = folderIn(t, 0o775);
  const { getuid, getgid } = process;
  const isOwn = getuid?.() === getgid?.();
  if (isOwn) t.notThrows(() => refuseSwappablePlace(join(folder, 'new')));
  else t.throws(() => refuseSwappablePlace(join(folder, 'new')), changed);
  if (!isRoot) return;
  chownSync(folder, 0, nobody);
  t.throws(() => refuseSwappablePlace(join(folder, 'new')), changed);
});

(isRoot ? test : test.skip)('a place below a folder or behind a link of another user does not count', (t) => {
  t.throws(() => refuseSwappablePlace(join(folderIn(t, 0o755, nobody), 'new')), foreign);
  const link = join(temporaryFolder(t), 'link');
  symlinkSync(folderIn(t, 0o700), link);
  t.notThrows(() => refuseSwappablePlace(join(link, 'new')));
  lchownSync(link, nobody, nobody);
  t.throws(() => refuseSwappablePlace(join(link, 'new')), foreign);
});
