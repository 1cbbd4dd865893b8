import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { repository, signetScript } from '#support/dev-world';
import { followFirstServer } from '#support/first-server';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

test('the guide to a first server holds for one on PostgreSQL, whose database must be empty', async (t) => {
  t.timeout(300_000);
  if (postgresPrograms === undefined) {
    t.log(`skipped: ${noPostgres}`);
    return t.pass();
  }
  const database = await startPostgres(t);
  const name = await database.createDatabase('icu-en-US');
  const options = ['--postgres', database.host, '--postgres-database', name, '--postgres-user', database.user];
  const folder = temporaryFolder(t);
  const [made, used] = await followFirstServer(t, folder, options.join(' '));
  t.is(made.status, 0, made.stderr);
  t.is(used.status, 0, `${used.stdout}${used.stderr}`);
  t.regex(used.stdout, /^ok {7}reachability: the server answers and knows this client$/m);
  t.regex(used.stdout, /^outcome +registered$/m);
  t.regex(used.stdout, /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/m);
  const { store, keys } = parse(readFileSync(join(folder, 'server/signet.yaml'), 'utf8'));
  t.deepEqual(store, { kind: 'postgres', postgres: { hosts: [database.host], database: name, user: database.user } });
  t.deepEqual(keys, { storage: 'store', sealingKeyFile: 'sealing.key' });
  t.false(existsSync(join(folder, 'server/data/signet.db')));

  const init = (place: string, ...more: readonly string[]) =>
    runProgram(process.execPath, [signetScript, 'init', join(folder, place), ...more, '--json']);
  const again = await init('second', ...options);
  t.deepEqual([again.status, again.stdout], [1, '']);
  t.is(again.stderr, `signet: database \`${name}\` already contains a store: name an empty database\n`);
  t.false(existsSync(join(folder, 'second')));

  // A name that is refused when it is read back from the server's certificate: the signing keys are in the database by then.
  const half = await database.createDatabase();
  const program = `import { initialise } from '@signet/server/cli/initialise';
    import { systemClock } from '@signet/policy-engine/clock';
    const made = { folder: ${JSON.stringify(join(folder, 'half'))}, host: '127.0.0.1', port: 4443, identities: [], actor: 'local:test' };
    const names = { baseUrl: 'https://a.example/v1', hosts: ['not a name'], trustDomain: 'signet.test' };
    const postgres = ${JSON.stringify(database.settings(half))};
    await initialise({ ...made, ...names, postgres }, systemClock).catch(({ message }) => console.log(message));`;
  const failed = await runProgram(
    process.execPath,
    ['--conditions=@signet/source', '--input-type=module', '--eval', program],
    { cwd: join(repository, 'test') },
  );
  t.regex(failed.stdout, /a character that no name has/);
  t.regex(failed.stderr, /`store_2` may contain a partial store: drop and create it before you try again/);
  t.false(existsSync(join(folder, 'half')));
  const next = await init('half', '--postgres', database.host, '--postgres-database', half);
  t.regex(next.stderr, /`store_2` holds a store already/);

  mkdirSync(join(folder, 'third'));
  const nowhere = await init('third', '--postgres', '/nowhere', '--postgres-user', database.user);
  t.is(nowhere.status, 75, nowhere.stderr);
  t.false(existsSync(join(folder, 'third/ca')), 'a database that does not answer leaves nothing');
});
