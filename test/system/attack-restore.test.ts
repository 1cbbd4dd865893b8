import { chmodSync, copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import Database from 'better-sqlite3';
import { install, serve } from '#support/signet-program';

/* Attack by a keeper of the backups, or a user who may write where they are kept, who wants to be an operator after the next restore. */

const domains = [{ name: 'sys.auth', roles: { admin: ['sys.auth.operator'] } }];

const makeEvilAdmin = `insert into members (domain, kind, list, member, disabled) values ('sys.auth', 'role', 'admin', 'evil.one', 0);
  update roles set member_count = 2 where domain = 'sys.auth' and name = 'admin';`;
const trigger = `create trigger evil after insert on audit begin ${makeEvilAdmin} end`;

function alter(file: string, sql: string): void {
  const database = new Database(file);
  database.exec(sql);
  database.close();
}

test('a backup that was tampered with makes nobody an operator', async (t) => {
  t.timeout(300_000);
  const installed = await install(t, { domains });
  const { folder, storeFile, signet } = installed;
  const [backup, stolen] = [join(folder, 'backup'), join(folder, 'stolen')];
  const made = await signet('backup', backup, '--json');
  t.is(made.status, 0, made.stderr);
  const { digest } = JSON.parse(made.stdout);

  const attacks: readonly (readonly [alterations: string, said: RegExp, ...options: string[]])[] = [
    [trigger, /holds trigger evil, which no version of this program makes: restore a backup/],
    [trigger, /holds trigger evil, /, '--digest', digest],
    [makeEvilAdmin, /was changed after it was created/],
    [makeEvilAdmin, /has another digest: `[0-9a-f]{64}`/, '--digest', digest],
    [`${makeEvilAdmin} drop table backup_seal`, /has no seal: use `--digest`/],
  ];
  for (const [sql, said, ...options] of attacks) {
    rmSync(stolen, { force: true });
    copyFileSync(backup, stolen);
    alter(stolen, sql);
    const { status, stderr } = await signet('restore', stolen, ...options);
    t.is(status, 78, stderr);
    t.regex(stderr, said);
    t.regex(stderr, /^signet: backup `[^\n]*\n$/);
  }
  const admins = await signet('export', '--json');
  t.false(admins.stdout.includes('evil'));

  // The same in the store itself: it is not served.
  copyFileSync(storeFile, stolen);
  chmodSync(stolen, 0o600);
  alter(stolen, trigger);
  renameSync(stolen, storeFile);
  const served = await signet('serve');
  t.is(served.status, 78, served.stderr);
  t.regex(served.stderr, /holds trigger evil/);

  const restored = await signet('restore', backup, '--json');
  t.is(restored.status, 0, restored.stderr);
  t.is(JSON.parse(restored.stdout).digest, digest);
  const serving = await serve(t, installed);
  t.is(await serving.end('SIGTERM'), 0);
  t.false(readFileSync(storeFile).includes('evil.one'));
});

test('a server that does not have the key takes a backup by the digest that was printed', async (t) => {
  t.timeout(300_000);
  const [here, there] = [await install(t, { domains }), await install(t, { domains: [] })];
  const backup = join(here.folder, 'backup');
  const { digest } = JSON.parse((await here.signet('backup', backup, '--json')).stdout);
  const refused = await there.signet('restore', backup);
  t.is(refused.status, 78);
  t.regex(
    refused.stderr,
    /was sealed with a key that is not on this machine: use `--digest` with the digest that `signet backup` /,
  );
  const wrong = await there.signet(
    'restore',
    backup,
    '--digest',
    digest.replace(/^./, (c: string) => (c === '0' ? '1' : '0')),
  );
  t.is(wrong.status, 78);
  const taken = await there.signet('restore', backup, '--digest', digest, '--json');
  t.is(taken.status, 0, taken.stderr);
  t.is(JSON.parse(taken.stdout).digest, digest);
});
