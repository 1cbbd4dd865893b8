import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { repository } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { install, serve } from '#support/signet-program';

/* The guide, from a server on one file to PostgreSQL and back. */

test('every command of the guide to moving a store does what it says', async (t) => {
  t.timeout(600_000);
  if (postgresPrograms === undefined) {
    t.log(`skipped: ${noPostgres}`);
    return t.pass();
  }
  const database = await startPostgres(t);
  const installation = await install(t, { domains: [{ name: 'media', roles: { viewer: ['user.jane'] } }] });
  const { folder } = installation;
  const [host = '', port = ''] = database.host.split(':');
  Object.assign(process.env, {
    PATH: `${postgresPrograms}:${process.env['PATH']}`,
    PGHOST: host,
    PGPORT: port,
    PGUSER: database.user,
  });
  writeFileSync(join(folder, 'db-password'), 'not asked for\n', { mode: 0o600 });
  let serving = await serve(t, installation);
  const outputs: string[] = [];
  for (const { text, kind } of blocksOf(readFileSync(join(repository, 'docs/guides/move-the-store.md'), 'utf8'))) {
    if (kind === 'stopped') t.is(await serving.end('SIGTERM'), 0);
    const here = text.replaceAll('db1.example.com:5432', database.host);
    const finished = await runBlock(folder, folder, here);
    t.is(
      finished.status,
      kind === 'refused' ? 1 : 0,
      `${text}\n${finished.stdout}${finished.stderr}\n${serving.errors()}`,
    );
    outputs.push(finished.stdout + finished.stderr);
    if (kind === 'stopped') serving = await serve(t, installation);
  }
  t.is(await serving.end('SIGTERM'), 0);
  const all = outputs.join('');
  for (const said of [
    /is in use: stop its servers first/,
    /^began +new$/m,
    /start servers with `postgres:signet-postgres\.yaml` only/,
    /^the same: \d+ rows, digest [0-9a-f]{64}$/m,
    /^kind +postgres$/m,
    /^server: address local, connections \d+, since \d{4}-/m,
    /^\d+ records, head [0-9a-f]{64}$/m,
    /^kind +sqlite$/m,
    /^replaced +.*postgres-restore\.db\.replaced-2$/m,
  ]) {
    t.regex(all, said);
  }
  t.false(/^fault:/m.test(all));
});
