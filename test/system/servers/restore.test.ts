import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StorePlace } from '@signet/server/config/store-place';
import { check } from '@signet/server/store/backups';
import { compareStores, copyStore } from '@signet/server/store/copy-store';
import test from 'ava';
import { signetScript } from '#support/dev-world';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { install } from '#support/signet-program';

/* `kill -9` of `signet restore` over a PostgreSQL database, at random points. SIGNET_COPY_KILLS says at how many. */

const points = Number(process.env['SIGNET_COPY_KILLS'] ?? 4);

test('killed at any moment, a restore has happened as a whole or not at all', async (t) => {
  t.timeout(120_000 + points * 60_000);
  if (postgresPrograms === undefined) {
    t.log(`skipped: ${noPostgres}`);
    return t.pass();
  }
  const server = await startPostgres(t);
  const roles = { viewer: Array.from({ length: 2000 }, (_, index) => `user.jane${index}`) };
  const installation = await install(t, { domains: [{ name: 'media', roles }] });
  const { config, folder, dataDir, storeFile } = installation;
  const database = await server.createDatabase();
  const place: StorePlace = { kind: 'postgres', ...server.settings(database) };
  await copyStore({ kind: 'sqlite', file: storeFile }, place, { resume: false, whileRunning: false });
  appendFileSync(
    config,
    `store: { kind: postgres, postgres: { hosts: ['${server.host}'], database: ${database}, user: ${server.user}, connectTimeoutMs: 60000 } }\n`,
  );
  const backup = join(folder, 'backup.db');
  t.is((await installation.signet('backup', backup)).status, 0);
  const start = performance.now();
  const whole = await installation.signet('restore', backup);
  t.is(whole.status, 0, whole.stderr);
  const milliseconds = performance.now() - start;
  let done = 0;
  for (let point = 0; point < points; point += 1) {
    const [before, found] = [await compareStores(place, place), await check(place)];
    const child = spawn(process.execPath, [signetScript, 'restore', backup, '--config', config], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await Promise.race([pause((0.2 + 0.8 * Math.random()) * milliseconds), ended]);
    child.kill('SIGKILL');
    await ended;
    const after = await check(place);
    t.deepEqual(after.faults, []);
    if (after.digest === before.from.digest) continue;
    done += 1;
    t.is(after.epoch, found.epoch + 1);
  }
  t.log(`${done} of ${points} restores had happened when they were killed`);
  const last = await installation.signet('restore', backup);
  t.is(last.status, 0, last.stderr);
  // The copy of a restore that is killed stays until leftovers are removed (`findLeftovers`); the file of the merge does not.
  const left = readdirSync(dataDir).filter(
    (name) => name.startsWith('postgres-restore') && !/\.(?:replaced|restore)-/.test(name),
  );
  t.deepEqual(left, []);
});
