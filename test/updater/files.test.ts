import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { nodeFileSystem } from '@signet/updater/files/file-system';
import { lockDirectory, lockName } from '@signet/updater/files/lock';
import { PolicyDirectory } from '@signet/updater/files/policy-directory';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { systemError, watchedFiles } from './support/faulty-files.ts';
import { kinds, makeSigningKey, updaterWorld } from './support/world.ts';

function directoryOf(path: string, uid = process.geteuid?.()): PolicyDirectory {
  return new PolicyDirectory(path, nodeFileSystem, uid);
}

test('what a killed updater was writing is removed by the next one', async (t) => {
  const folder = temporaryFolder(t);
  let ended = false;
  const files = watchedFiles((call) => {
    ended ||= call === 'rename a.pol';
    // from here on nothing reaches the disk any more
    if (ended) throw systemError('EKILLED');
  });
  await t.throwsAsync(new PolicyDirectory(folder, files, process.geteuid?.()).write('a.pol', Buffer.from('new')));
  t.is(readdirSync(folder).length, 1);
  await directoryOf(folder).removeLeftovers();
  t.deepEqual(readdirSync(folder), []);
});

for (const code of ['ENOSPC', 'EROFS', 'EIO']) {
  for (const call of ['create', 'write', 'sync', 'rename']) {
    test(`${code} at ${call}: the last good bundle stays, the outcome says so, and the next run mends it`, async (t) => {
      const world = await updaterWorld(t);
      const old = await world.publish({ version: 1 });
      await world.runOnce();
      const served = await world.publish({ version: 2 });
      const files = watchedFiles((each) => {
        if (each === `${call} catalog.pol`) throw systemError(code);
      });
      const report = await world.runOnce(files);
      t.deepEqual(kinds(report), { catalog: 'not-stored' });
      t.is(report.exitStatus, 4);
      t.is(world.read('catalog.pol'), old);
      const { error } = report.status.domains['catalog'] ?? {};
      t.is(error, `cannot write \`catalog.pol\` in policy directory \`${world.policyDir}\` (${code})`);
      t.deepEqual(kinds(await world.runOnce()), { catalog: 'updated' });
      t.is(world.read('catalog.pol'), served);
    });
  }
}

for (const file of ['state.json', 'status.json', 'keys.json']) {
  test(`${file} that cannot be written is exit status 4, and the policy is fresh all the same`, async (t) => {
    const world = await updaterWorld(t);
    const served = await world.publish({ version: 1 });
    const files = watchedFiles((call) => {
      if (call === `rename ${file}`) throw systemError('ENOSPC');
    });
    const report = await world.runOnce(files);
    t.deepEqual(kinds(report), { catalog: 'updated' });
    t.is(report.exitStatus, 4);
    t.is(world.read('catalog.pol'), served);
  });
}

const unsafe: readonly { note: string; make: (t: ExecutionContext) => PolicyDirectory; what: RegExp }[] = [
  {
    note: 'that everyone can write to',
    make: (t) => {
      const path = temporaryFolder(t);
      chmodSync(path, 0o777);
      return directoryOf(path);
    },
    what: /can be written by everyone$/,
  },
  {
    note: 'that a group can write to, as the root of a shared volume',
    make: (t) => {
      const path = temporaryFolder(t);
      chmodSync(path, 0o2770);
      return directoryOf(path);
    },
    what: /can be written by its group; give the name of a folder in it, which the updater makes for itself$/,
  },
  {
    note: 'with keys that a group can write',
    make: (t) => {
      const path = temporaryFolder(t);
      writeFileSync(join(path, 'keys.json'), '{}');
      chmodSync(join(path, 'keys.json'), 0o664);
      return directoryOf(path);
    },
    what: /holds `keys\.json`, which can be written by its group$/,
  },
  { note: 'of another user', make: (t) => directoryOf(temporaryFolder(t), 12_345), what: /belongs to another user$/ },
  {
    note: 'that is a symbolic link',
    make: (t) => {
      const path = temporaryFolder(t);
      mkdirSync(join(path, 'real'));
      symlinkSync(join(path, 'real'), join(path, 'link'));
      return directoryOf(join(path, 'link'));
    },
    what: /is not a directory, or is a symbolic link to one$/,
  },
  {
    note: 'with a symbolic link in the place of the keys',
    make: (t) => {
      const path = temporaryFolder(t);
      symlinkSync('/etc/passwd', join(path, 'keys.json'));
      return directoryOf(path);
    },
    what: /holds `keys\.json`, which is not a plain file$/,
  },
  {
    note: 'with a folder in the place of the state',
    make: (t) => {
      const path = temporaryFolder(t);
      mkdirSync(join(path, 'state.json'));
      return directoryOf(path);
    },
    what: /holds `state\.json`, which is not a plain file$/,
  },
];

for (const { note, make, what } of unsafe) {
  test(`refuses a policy directory ${note}`, async (t) => {
    t.like(await t.throwsAsync(make(t).prepare()), { name: 'UpdaterError', code: 'unsafe-directory' });
    const error = await t.throwsAsync(make(t).check());
    t.regex(error.message, what);
  });
}

test('a symbolic link that appears later is neither followed nor replaced', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'victim'), 'mine');
  symlinkSync(join(folder, 'victim'), join(folder, 'catalog.pol'));
  const directory = directoryOf(folder);
  t.like(await t.throwsAsync(directory.write('catalog.pol', Buffer.from('x'))), { code: 'unsafe-file' });
  t.like(await t.throwsAsync(directory.read('catalog.pol', 100)), { code: 'storage' });
  t.is(readFileSync(join(folder, 'victim'), 'utf8'), 'mine');
});

test('makes the directory, readable by everyone, whatever the umask', async (t) => {
  const path = join(temporaryFolder(t), 'a', 'policy');
  await directoryOf(path).prepare();
  t.is(statSync(path).mode & 0o7777, 0o755);
});

for (const [volume, made, file] of [
  [0o2775, 0o2750, 0o640],
  [0o770, 0o750, 0o640],
  [0o755, 0o755, 0o644],
] as const) {
  test(`in a volume of mode ${volume.toString(8)} the updater makes its own folder of mode ${made.toString(8)}`, async (t) => {
    const parent = temporaryFolder(t);
    chmodSync(parent, volume);
    const path = join(parent, 'signet');
    const directory = directoryOf(path);
    await directory.prepare();
    await directory.write('keys.json', Buffer.from('{}'));
    t.is(statSync(path).mode & 0o7777, made);
    t.is(statSync(join(path, 'keys.json')).mode & 0o7777, file);
    await directory.prepare();
    t.is(statSync(path).mode & 0o7777, made);
  });
}

test('in a directory that only its owner can read, so are the files', async (t) => {
  const path = join(temporaryFolder(t), 'policy');
  mkdirSync(path, { mode: 0o700 });
  const directory = directoryOf(path);
  await directory.prepare();
  await directory.write('keys.json', Buffer.from('{}'));
  t.is(statSync(join(path, 'keys.json')).mode & 0o7777, 0o600);
  t.is(statSync(path).mode & 0o7777, 0o700);
});

test('in a directory that only its owner may read, so may the files', async (t) => {
  const folder = temporaryFolder(t);
  for (const [directoryMode, fileMode] of [
    [0o700, 0o600],
    [0o750, 0o640],
    [0o755, 0o644],
  ] as const) {
    chmodSync(folder, directoryMode);
    const directory = directoryOf(folder);
    await directory.check();
    await directory.write('a.pol', Buffer.from('x'));
    t.is(statSync(join(folder, 'a.pol')).mode & 0o7777, fileMode);
  }
});

test('reads no more than it is told', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'a.pol'), 'x'.repeat(100));
  t.is((await directoryOf(folder).read('a.pol', 100))?.length, 100);
  const message = `cannot read \`a.pol\` in policy directory \`${folder}\` (too large)`;
  await t.throwsAsync(directoryOf(folder).read('a.pol', 99), { message });
  t.is(await directoryOf(folder).read('b.pol', 99), undefined);
});

test('on a disk that cannot be written the updater does not start, and says why', async (t) => {
  const world = await updaterWorld(t);
  const files = watchedFiles((call) => {
    if (call === 'create lock') throw systemError('EROFS');
  });
  await t.throwsAsync(world.open(files), {
    name: 'UpdaterError',
    code: 'storage',
    message: `cannot lock policy directory \`${world.policyDir}\` (EROFS)`,
  });
});

test('only one updater has the directory; the next gets it when the first ends', async (t) => {
  const folder = temporaryFolder(t);
  const first = await lockDirectory(folder, nodeFileSystem);
  t.like(await t.throwsAsync(lockDirectory(folder, nodeFileSystem)), {
    code: 'locked',
    message: `policy directory \`${folder}\` is in use by another updater: stop it, or set another \`policyDir\` for this one`,
  });
  await first[Symbol.asyncDispose]();
  const second = await lockDirectory(folder, nodeFileSystem);
  t.deepEqual(readdirSync(folder), [lockName]);
  await second[Symbol.asyncDispose]();
});

test('one of many that start at once gets the directory', async (t) => {
  const folder = temporaryFolder(t);
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => lockDirectory(folder, nodeFileSystem)));
  t.is(results.filter(({ status }) => status === 'fulfilled').length, 1);
});

for (const [note, plant, error] of [
  ['a link', (path: string) => symlinkSync('/etc/passwd', path), { code: 'unsafe-directory' }],
  ['a folder', (path: string) => mkdirSync(path), { code: 'unsafe-directory' }],
  ['something else', (path: string) => writeFileSync(path, 'no lock of ours'), { code: 'storage' }],
] as const) {
  test(`${note} in the place of the lock is refused and left alone`, async (t) => {
    const folder = temporaryFolder(t);
    plant(join(folder, lockName));
    const facts = () => {
      const { ino, mode, size, mtimeMs } = lstatSync(join(folder, lockName));
      return { ino, mode, size, mtimeMs };
    };
    const before = facts();
    t.like(await t.throwsAsync(lockDirectory(folder, nodeFileSystem)), error);
    t.deepEqual(facts(), before);
  });
}

test('a lock is out of place once another directory is in the place of its own', async (t) => {
  const folder = join(temporaryFolder(t), 'policy');
  mkdirSync(folder);
  const lock = await lockDirectory(folder, nodeFileSystem);
  t.teardown(() => lock[Symbol.asyncDispose]());
  t.true(await lock.isInPlace());
  renameSync(folder, `${folder}.old`);
  t.false(await lock.isInPlace());
  mkdirSync(folder);
  t.false(await lock.isInPlace());
  const other = await lockDirectory(folder, nodeFileSystem);
  t.false(await lock.isInPlace());
  await other[Symbol.asyncDispose]();
});

test('a directory that is swapped under the updater is taken with what is known: keys, floors, bundles', async (t) => {
  const world = await updaterWorld(t);
  const served = await world.publish({ version: 5 });
  const updater = await world.open();
  await updater.run();
  const keys = world.read('keys.json');
  renameSync(world.policyDir, `${world.policyDir}.old`);
  t.deepEqual(kinds(await updater.run()), { catalog: 'updated' });
  t.is(world.read('catalog.pol'), served);
  t.is(world.read('keys.json'), keys);
  t.like(JSON.parse(world.read('state.json') ?? ''), { floors: { catalog: { epoch: 1, version: 5 } } });

  // An older bundle does not follow, and keys of somebody else are not taken, in the new directory either.
  renameSync(world.policyDir, `${world.policyDir}.older`);
  await world.publish({ version: 4 });
  t.deepEqual(kinds(await updater.run()), { catalog: 'rejected' });
  renameSync(world.policyDir, `${world.policyDir}.oldest`);
  world.clock.advance(60_000);
  world.published.splice(0, world.published.length, makeSigningKey('other').jwk);
  const report = await updater.run();
  t.regex(report.status.keys.error ?? '', /none of the published keys was known before/);
  t.is(world.read('keys.json'), keys);
});

test('a directory that another updater has taken meanwhile is left to it', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  const first = await world.open();
  await first.run();
  renameSync(world.policyDir, `${world.policyDir}.old`);
  const second = await world.open();
  await second.run();
  const served = await world.publish({ version: 2 });
  t.like(await t.throwsAsync(first.run()), { code: 'locked' });
  await second.run();
  t.is(world.read('catalog.pol'), served);
  await second.close();
  t.deepEqual(kinds(await first.run()), { catalog: 'unchanged' });
});
