import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { outputFolder, writeOutput } from '@signet/server/cli/written-output';
import { ConflictError } from '@signet/server/errors';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const exists = { instanceOf: ConflictError, message: /exists: use `--force` to write over it$/ };
const modeOf = (file: string) => statSync(file).mode & 0o777;

test('what a command writes is for its owner, and is not written over without being told', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'out');
  await writeOutput(file, 'one', { force: false });
  t.deepEqual([readFileSync(file, 'utf8'), modeOf(file)], ['one', 0o600]);
  await t.throwsAsync(writeOutput(file, 'two', { force: false }), exists);
  t.is(readFileSync(file, 'utf8'), 'one');
  chmodSync(file, 0o666);
  await writeOutput(file, 'two', { force: true });
  t.deepEqual([readFileSync(file, 'utf8'), modeOf(file)], ['two', 0o600]);
  await writeOutput(file, 'three', { force: true, mode: 0o644 });
  t.is(modeOf(file), 0o644);
  t.deepEqual(readdirSync(folder), ['out']);
});

test('a file that cannot be written is named', async (t) => {
  const folder = temporaryFolder(t);
  const missing = join(folder, 'missing', 'out');
  for (const force of [false, true]) {
    await t.throwsAsync(writeOutput(missing, 'one', { force }), {
      message: `\`${missing}\` cannot be written (ENOENT)`,
    });
  }
  await t.throwsAsync(writeOutput(folder, 'one', { force: true }), { message: /^`.*` cannot be written \(E\w+\)$/ });
});

test('no link is followed, also one that leads nowhere', async (t) => {
  const folder = temporaryFolder(t);
  const [file, target, nowhere] = [join(folder, 'out'), join(folder, 'target'), join(folder, 'nowhere')];
  writeFileSync(target, 'precious');
  for (const to of [target, nowhere]) {
    symlinkSync(to, file);
    await t.throwsAsync(writeOutput(file, 'new', { force: false }), exists);
    await writeOutput(file, 'new', { force: true });
    t.true(lstatSync(file).isFile());
    t.is(readFileSync(target, 'utf8'), 'precious');
    t.deepEqual(readdirSync(folder).toSorted(), ['out', 'target']);
    rmSync(file);
  }
});

test('what cannot be replaced leaves nothing behind', async (t) => {
  const folder = temporaryFolder(t);
  await t.throwsAsync(writeOutput(folder, 'x', { force: true }));
  await t.throwsAsync(writeOutput(join(folder, 'none', 'x'), 'x', { force: true }));
  t.deepEqual(readdirSync(folder), []);
});

(process.getuid?.() === 0 ? test : test.skip)('a key is not given to who made the file before', async (t) => {
  const file = join(temporaryFolder(t), 'key.pem');
  writeFileSync(file, '');
  chownSync(file, 65_534, 65_534);
  await writeOutput(file, 'secret', { force: true });
  t.deepEqual([statSync(file).uid, modeOf(file)], [0, 0o600]);
});

test('a folder is made for its owner alone, and is not reached through a link', async (t) => {
  const folder = temporaryFolder(t);
  const [real, link] = [join(folder, 'real'), join(folder, 'link')];
  mkdirSync(real);
  symlinkSync(real, link);
  for (const name of [link, `${link}/`]) {
    t.throws(() => outputFolder(name), {
      instanceOf: ConflictError,
      message: `\`${name}\` is a symbolic link: use the folder that it points to`,
    });
  }
  t.is(outputFolder(`${real}/`), real);
  t.is(modeOf(outputFolder(join(folder, 'deep', 'new'))), 0o700);
});
