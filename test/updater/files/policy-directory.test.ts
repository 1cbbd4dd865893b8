import type { FileFacts, FileSystem } from '@signet/updater/files/file-system';
import { PolicyDirectory } from '@signet/updater/files/policy-directory';
import { UpdaterError } from '@signet/updater/updater-errors';
import test from 'ava';

/* Writers of a policy directory and of its files, by the facts of the file system. */

const folder: FileFacts = { isFile: false, isDirectory: true, uid: 7, mode: 0o755, identity: 'd' };
const file: FileFacts = { isFile: true, isDirectory: false, uid: 7, mode: 0o644, identity: 'f' };

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** A directory `/v/policy` of which the file system says this. */
function directory(facts: Record<string, FileFacts | undefined>, uid?: number, more: Partial<FileSystem> = {}) {
  const made: number[] = [];
  const files = {
    facts: async (path: string) => facts[path],
    makeDirectory: async (_: string, mode: number) => void made.push(mode),
    ...more,
  };
  return { made, directory: new PolicyDirectory('/v/policy', files as never, uid) };
}

const checks: [
  note: string,
  facts: Record<string, FileFacts | undefined>,
  uid: number | undefined,
  problem: string | undefined,
][] = [
  ['its own', { '/v/policy': folder }, 7, undefined],
  ['of another user', { '/v/policy': folder }, 8, 'belongs to another user'],
  ['of a user without a number', { '/v/policy': folder }, undefined, undefined],
  ['that is not there', {}, 7, 'does not exist: a run of the updater creates it'],
  ['that is a file', { '/v/policy': file }, 7, 'is not a directory, or is a symbolic link to one'],
  ['that everyone may write', { '/v/policy': { ...folder, mode: 0o757 } }, 7, 'can be written by everyone'],
  [
    'that its group may write',
    { '/v/policy': { ...folder, mode: 0o775 } },
    7,
    'can be written by its group; give the name of a folder in it, which the updater makes for itself',
  ],
  [
    'with files',
    { '/v/policy': folder, '/v/policy/keys.json': file, '/v/policy/state.json': file, '/v/policy/status.json': file },
    7,
    undefined,
  ],
  ...['keys.json', 'state.json', 'status.json'].flatMap((name): typeof checks => [
    [
      `with a folder ${name}`,
      { '/v/policy': folder, [`/v/policy/${name}`]: folder },
      7,
      `holds \`${name}\`, which is not a plain file`,
    ],
    [
      `with ${name} that its group may write`,
      { '/v/policy': folder, [`/v/policy/${name}`]: { ...file, mode: 0o664 } },
      7,
      `holds \`${name}\`, which can be written by its group`,
    ],
    [
      `with ${name} that everyone may write`,
      { '/v/policy': folder, [`/v/policy/${name}`]: { ...file, mode: 0o646 } },
      7,
      `holds \`${name}\`, which can be written by everyone`,
    ],
  ]),
];
for (const [note, facts, uid, problem] of checks) {
  test(`a policy directory ${note}`, async (t) => {
    const checking = directory(facts, uid).directory.check();
    if (problem === undefined) await t.notThrowsAsync(checking);
    else
      await t.throwsAsync(checking, {
        code: 'unsafe-directory',
        message: `policy directory \`/v/policy\` ${problem}`,
      } as never);
  });
}

const modes: [note: string, parent: FileFacts | undefined, mode: number][] = [
  ['a folder', folder, 0o755],
  ['nothing', undefined, 0o755],
  ['a file that a group may write', { ...file, mode: 0o664 }, 0o755],
  ['a folder that a group may write', { ...folder, mode: 0o775 }, 0o750],
  ['a folder that hands its group on', { ...folder, mode: 0o2775 }, 0o2750],
  ['a folder that hands its group on and that the group may not write', { ...folder, mode: 0o2755 }, 0o755],
];
for (const [note, parent, mode] of modes) {
  test(`the mode of a new directory in ${note}`, async (t) => {
    const { made, directory: own } = directory({ '/v': parent, '/v/policy': folder });
    await own.prepare();
    t.deepEqual(made, [mode]);
  });
}

test('whether something is there, and whether it is a plain file', async (t) => {
  const own = directory({ '/v/policy/a': file, '/v/policy/b': folder }).directory;
  t.deepEqual([await own.has('a'), await own.has('b'), await own.has('c')], [true, true, false]);
  await t.notThrowsAsync(own.checkFile('a'));
  await t.notThrowsAsync(own.checkFile('c'));
  const odd = { code: 'unsafe-file', message: 'policy directory `/v/policy` holds `b`, which is not a plain file' };
  await t.throwsAsync(own.checkFile('b'), odd as never);
  await t.throwsAsync(own.write('b', Buffer.of()), odd as never);
});

test('what the file system refuses is told as a failure of storage, our own errors as they are', async (t) => {
  const failing = (error: Error) =>
    directory({}, 7, { openToRead: () => Promise.reject(error), list: () => Promise.reject(error) }).directory;
  t.is(await failing(systemError('ENOENT')).read('a', 1), undefined);
  const cases: [error: Error, what: string][] = [
    [systemError('EACCES'), 'EACCES'],
    [new RangeError('large'), 'too large'],
    [new TypeError('bug'), 'failed'],
  ];
  for (const [error, code] of cases) {
    await t.throwsAsync(failing(error).read('a', 1), {
      message: `cannot read \`a\` in policy directory \`/v/policy\` (${code})`,
    });
  }
  await t.throwsAsync(failing(systemError('EIO')).list(), {
    message: 'cannot list policy directory `/v/policy` (EIO)',
  });
  const own = new UpdaterError('locked', 'own');
  t.is(await t.throwsAsync(failing(own).list()), own);
});

test('only what an earlier run left is removed', async (t) => {
  const removed: string[] = [];
  const names = ['.catalog.pol.0123456789abcdef.tmp', '.a.0123456789abcde.tmp', 'catalog.pol', '.a.tmp'];
  const remove = async (path: string) => void removed.push(path);
  await directory({}, 7, { list: async () => names, remove }).directory.removeLeftovers();
  t.deepEqual(removed, ['/v/policy/.catalog.pol.0123456789abcdef.tmp']);
});
