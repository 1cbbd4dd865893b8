import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { signetScript, updaterScript } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { install } from '#support/signet-program';
import { temporaryFolder } from '#support/temp';

/* Attack by another user of the machine, who prepares what a command of an operator reads or writes. */

const isRoot = process.getuid?.() === 0;

const { SIGNET_CONFIG: _unset, SIGNET_UPDATER_CONFIG: _neither, ...env } = process.env;

const signetIn = (folder: string, ...args: readonly string[]) =>
  runProgram(process.execPath, [signetScript, ...args], { cwd: folder, env });

const updaterIn = (folder: string, ...args: readonly string[]) =>
  runProgram(process.execPath, [updaterScript, ...args], { cwd: folder, env });

/** A `.signet` that names another server and another store. */
function prepare(t: ExecutionContext): string {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, '.signet'));
  const client = { baseUrl: 'https://127.0.0.1:9/v1', certificate: 'c.pem', key: 'k.pem', caBundle: 'ca.pem' };
  const config = { ...client, dataDir: 'data', tls: { certificate: 'c.pem', key: 'k.pem', clientCa: 'ca.pem' } };
  writeFileSync(join(folder, '.signet', 'signet.yaml'), JSON.stringify(config));
  writeFileSync(join(folder, '.signet', 'dev.lock'), '');
  return folder;
}

const commands = [
  ['config', 'check'],
  ['backup', 'copy'],
  ['token', 'get', '--domain', 'catalog'],
  ['token', 'principal', '--service', 'media.player'],
  ['dev', '--port', '0', '--provider-port', '0'],
];

test('a `.signet` that others may change, or that belongs to somebody else, is not used', async (t) => {
  t.timeout(300_000);
  const spoils: readonly (readonly [said: RegExp, spoil: (folder: string) => void])[] = [
    [
      /^signet: folder `[^`]*\.signet` is writable by other users: its mode must be 0700\n$/,
      (folder) => chmodSync(folder, 0o777),
    ],
    ...(isRoot
      ? [
          [
            /^signet: folder `[^`]*\.signet` belongs to another user: use `--(config|data)` .*\n$/,
            (folder: string) => chownSync(folder, 65_534, 65_534),
          ] as const,
        ]
      : []),
  ];
  for (const [said, spoil] of spoils) {
    const folder = prepare(t);
    spoil(join(folder, '.signet'));
    for (const command of commands) {
      const { status, stdout, stderr } = await signetIn(folder, ...command);
      t.regex(stderr, said, command.join(' '));
      t.deepEqual([status, stdout], [2, ''], command.join(' '));
    }
    const updater = await updaterIn(folder, 'status');
    t.regex(updater.stdout + updater.stderr, /folder `\.signet` (is writable by other users|belongs to another user)/);
    t.not(updater.status, 0);
    t.deepEqual(readdirSync(join(folder, '.signet')).toSorted(), ['dev.lock', 'signet.yaml']);
    // Chosen by name, it is the operator's word.
    const chosen = await signetIn(folder, 'config', 'check', '--config', '.signet/../.signet/signet.yaml');
    t.false(/belongs to|can be changed/.test(chosen.stderr), chosen.stderr);
  }
});

test('an authority is not made where others could put another one in its place', async (t) => {
  t.timeout(120_000);
  const open = temporaryFolder(t);
  chmodSync(open, 0o777);
  const below = await signetIn(open, 'init', 'new');
  t.is(below.status, 2);
  t.regex(below.stderr, /^signet: folder `[^`]*` is writable by other users, who could replace its files: [^\n]*\n$/);
  t.deepEqual(readdirSync(open), []);

  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'prepared'));
  chmodSync(join(folder, 'prepared'), 0o770);
  const prepared = await signetIn(folder, 'init', 'prepared');
  t.is(prepared.status, 2);
  t.regex(prepared.stderr, /`[^`]*prepared` is writable by other users: its mode must be 0700/);
  t.deepEqual(readdirSync(join(folder, 'prepared')), []);

  mkdirSync(join(folder, 'inside', 'ca'), { recursive: true });
  chmodSync(join(folder, 'inside', 'ca'), 0o777);
  t.regex((await signetIn(folder, 'init', 'inside')).stderr, /inside\/ca` is writable by other users/);
  const made = await signetIn(folder, 'init', 'good', '--port', '0');
  t.is(made.status, 0, made.stderr);
  t.is(statSync(join(folder, 'good', 'data', 'keys', 'backup-seal.key')).mode & 0o777, 0o600);
});

test('export and plan write through no link, over no file, and for their owner alone', async (t) => {
  t.timeout(300_000);
  const { folder, signet } = await install(t, { domains: [{ name: 'media', roles: { admin: ['user.jane'] } }] });
  const at = (...names: string[]) => join(folder, ...names);
  mkdirSync(at('out'));
  mkdirSync(at('docs'));
  writeFileSync(at('docs', 'media.yaml'), 'domain: media\nroles:\n  admin:\n    members: [user.jane]\n');
  const [precious, nowhere] = [at('precious'), at('nowhere')];
  writeFileSync(precious, 'precious');
  const writes: readonly (readonly [file: string, command: string[], written: RegExp])[] = [
    [at('out', 'media.yaml'), ['export', at('out')], /^domain: media$/m],
    [at('plan.json'), ['plan', at('docs'), '--out', at('plan.json')], /^\{"/],
  ];
  for (const [file, command, written] of writes) {
    for (const target of [precious, nowhere]) {
      symlinkSync(target, file);
      const refused = await signet(...command);
      t.is(refused.status, 1, refused.stdout);
      t.regex(refused.stderr, /^signet: `[^`]*` exists: use `--force` to write over it\n$/);
      const forced = await signet(...command, '--force');
      t.is(forced.status, 0, forced.stderr);
      t.is(readFileSync(precious, 'utf8'), 'precious');
      t.regex(readFileSync(file, 'utf8'), written);
      t.is(statSync(file).mode & 0o777, 0o600);
      const again = await signet(...command);
      t.is(again.status, 1, again.stdout);
      rmSync(file);
    }
    t.is((await signet(...command)).status, 0);
    t.is(statSync(file).mode & 0o777, 0o600);
  }
  t.false(readdirSync(folder).includes('nowhere'));
});
