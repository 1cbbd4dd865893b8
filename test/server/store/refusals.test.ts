import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { ensureSealKey, sealKeyName } from '@signet/server/store/sqlite/seal-key';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { domainContent } from '#support/domains';
import { createPki } from '#support/pki';
import { runProgram } from '#support/run-program';
import { runSignetIn } from '#support/run-signet';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

/* Message of each command for an unusable store: one line, and an exit status that is not a success. */

/** Runs command lines one after the other in one process and prints `[status, standard error]` of each. */
const runner = (program: string) => `
  import { createProgram, runProgram } from ${JSON.stringify(program)};
  const results = [];
  const write = process.stdout.write.bind(process.stdout);
  for (const line of process.argv.slice(2)) {
    let said = '';
    process.stderr.write = (text) => { said += text; return true; };
    process.stdout.write = () => true;
    process.exitCode = undefined;
    const argv = line.split(' ');
    results.push([await runProgram(await createProgram('0', argv), argv), said]);
  }
  process.exitCode = 0;
  write(JSON.stringify(results));
`;

const reading = ['plan docs', 'export', 'store check', 'audit verify', 'audit list', 'keys list'] as const;
const changing = ['apply docs', 'keys rotate', 'serve'] as const;

const pki = await createPki();
const server = await pki.server();

interface World {
  readonly folder: string;
  readonly file: string;
  run(commands: readonly string[], asNobody?: boolean): Promise<(readonly [status: number | null, said: string])[]>;
}

async function openWorld(t: ExecutionContext): Promise<World> {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  chmodSync(folder, 0o755);
  mkdirSync(at('data'), { mode: 0o700 });
  mkdirSync(at('docs'));
  writeFileSync(at('docs/catalog.yaml'), 'domain: catalog\n');
  writeFileSync(at('signet.yaml'), 'tls: { certificate: c.pem, key: k.pem, clientCa: ca.pem }\n');
  writeFileSync(at('c.pem'), server.certificate);
  writeFileSync(at('k.pem'), server.key);
  writeFileSync(at('ca.pem'), pki.bundle);
  writeFileSync(at('runner.ts'), runner(import.meta.resolve('@signet/server/program')));
  const file = at('data/signet.db');
  const store = await openSqliteStore(file);
  const members = Array.from({ length: 2000 }, (_, index) => `media.s${index}`);
  await store.change({ actor: 'test' }, (change) =>
    saveDomain(change, domainContent('catalog', { roles: { r: members } })),
  );
  await store.close();
  const run = async (commands: readonly string[], asNobody = false) => {
    const lines = commands.map((command) => `${command} --config ${at('signet.yaml')}`);
    if (!asNobody) {
      const results: [status: number | null, said: string][] = [];
      for (const line of lines) {
        const { status, stderr } = await runSignetIn(folder, ...line.split(' '));
        results.push([status, stderr]);
      }
      return results;
    }
    const node = [process.execPath, '--conditions=@signet/source', at('runner.ts'), ...lines];
    const args = ['--reuid=65534', '--clear-groups', ...node];
    const { stdout, stderr } = await runProgram('setpriv', args, { cwd: folder });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  };
  return { folder, file, run };
}

const conditions: readonly (readonly [
  note: string,
  spoil: (file: string) => (() => void) | undefined,
  commands: readonly string[],
  said: RegExp,
  status: number,
])[] = [
  [
    'is not a database',
    (file) => void writeFileSync(file, 'domain: catalog\n'),
    [...reading, ...changing, 'backup copy'],
    /^signet: store `.*` is not a SQLite database\n$/,
    78,
  ],
  [
    'has overwritten pages',
    (file) => {
      const bytes = readFileSync(file);
      for (let page = 2; page < bytes.length / 4096; page += 1) bytes.fill(0xaa, page * 4096, page * 4096 + 2000);
      writeFileSync(file, bytes);
      return undefined;
    },
    [...reading, ...changing],
    /^signet: store `.*` is corrupt\n$/,
    78,
  ],
  [
    'is of a newer program',
    (file) => {
      const database = new Database(file);
      database.exec(`insert into kysely_migration (name, timestamp) values ('999-future', '2030')`);
      database.close();
      return undefined;
    },
    [...reading, ...changing, 'restore good'],
    /^signet: store `.*` was written by a newer version of this program\n$/,
    78,
  ],
  [
    'holds a trigger',
    (file) => {
      const database = new Database(file);
      database.exec(`create trigger evil after insert on audit begin delete from roles; end`);
      database.close();
      return undefined;
    },
    [...reading, ...changing, 'backup copy'],
    /^signet: store `.*` holds trigger evil, which no version of this program makes: restore a backup, or undo it .*\n$/,
    78,
  ],
  [
    'is locked as a whole',
    (file) => {
      const database = new Database(file);
      database.pragma('locking_mode = exclusive');
      database.exec('begin exclusive; update meta set counter = counter');
      return () => database.close();
    },
    ['plan docs', 'audit verify', 'apply docs'],
    /^signet: the store is locked by another writer\n$/,
    75,
  ],
];
for (const [note, spoil, commands, said, status] of conditions) {
  test(`a store that ${note} is refused by each command in one line`, async (t) => {
    const { folder, file, run } = await openWorld(t);
    await backUpStore(file, join(folder, 'good'), ensureSealKey(join(folder, 'data/keys', sealKeyName)));
    const release = spoil(file);
    const results = await run(commands);
    release?.();
    for (const [index, [found, line]] of results.entries()) {
      t.deepEqual([found, said.test(line)], [status, true], `${commands[index]}: ${found} ${line}`);
    }
    t.false(readdirSync(folder).some((name) => name.startsWith('copy')));
  });
}

test('a folder that cannot be written is said by each command in one line', async (t) => {
  const { folder, file, run } = await openWorld(t);
  await backUpStore(file, join(folder, 'good'), ensureSealKey(join(folder, 'data/keys', sealKeyName)));
  const isRoot = process.getuid?.() === 0;
  // As root another user has to run the commands, who may not be let into the checkout.
  const reach = isRoot && spawnSync('/bin/ls', [import.meta.dirname], { uid: 65_534, gid: 65_534 });
  if (reach && reach.status !== 0) return t.pass();
  const data = readdirSync(join(folder, 'data'), { recursive: true }).map((name) => join('data', String(name)));
  if (isRoot) for (const path of ['data', ...data, 'good']) chownSync(join(folder, path), 65_534, 65_534);
  chmodSync(file, 0o400);
  chmodSync(join(folder, 'data'), 0o500);
  // A server starts all the same, and lacks only its address here; commands that only read do all of their work.
  const served = await run(['serve --host 192.0.2.1'], isRoot);
  t.regex(served[0]?.[1] ?? '', /EADDRNOTAVAIL/);
  const readers = ['export', 'audit verify', 'keys list', 'store check'];
  for (const [index, [status, line]] of (await run(readers, isRoot)).entries())
    t.is(status, 0, `${readers[index]}: ${line}`);
  const commands = [...changing.filter((command) => command !== 'serve'), 'restore good'];
  const results = await run(commands, isRoot);
  for (const [index, [status, line]] of results.entries()) {
    t.deepEqual(
      [status, /^signet: .*(cannot be written|cannot be opened).*\n$/.test(line)],
      [75, true],
      `${commands[index]}: ${line}`,
    );
  }
  chmodSync(join(folder, 'data'), 0o700);
});
