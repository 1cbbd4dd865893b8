import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StorePlace } from '@signet/server/config/store-place';
import { StoreRefusedError } from '@signet/server/errors';
import { compareStores, copyStore } from '@signet/server/store/copy-store';
import { openStore } from '@signet/server/store/open';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { assertWithin, costOf, costsAreKnown } from '#support/cost';
import { signetScript } from '#support/dev-world';
import { domainContent } from '#support/domains';
import { noPostgres, type PostgresServer, postgresPrograms, startPostgres } from '#support/postgres';
import { saveDomain } from '#support/save-domain';
import { install } from '#support/signet-program';

/*
 * `kill -9` of `signet store copy` at random points, both ways. SIGNET_COPY_KILLS says at how many, SIGNET_COPY_MEMBERS how large the store is:
 * `npm run copy-kills -w test`, `npm run copy-large -w test`.
 */

const points = Number(process.env['SIGNET_COPY_KILLS'] ?? 8);
const members = Number(process.env['SIGNET_COPY_MEMBERS'] ?? 30_000);

interface Ends {
  readonly from: StorePlace;
  readonly to: StorePlace;
  readonly args: readonly string[];
}

/** A store with many members, whose counts are right. */
async function largeStore(file: string): Promise<void> {
  const store = await openSqliteStore(file);
  await store.change({ actor: 'test' }, (change) =>
    saveDomain(change, domainContent('media', { roles: { viewer: [] } })),
  );
  await store.close();
  const database = new Database(file);
  database.exec(`
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${members})
    insert into members select 'media', 'role', 'viewer', 'user.jane' || n, null, 0, null from numbers;
    update roles set member_count = ${members};`);
  database.close();
}

/** Where the copy of the source has come: nothing usable, a partial copy, or the whole store. Anything else fails the test. */
async function stateOf(t: ExecutionContext, { from, to }: Ends): Promise<'nothing' | 'partial' | 'whole'> {
  if (to.kind === 'sqlite' && !existsSync(to.file)) return 'nothing';
  try {
    const store = await openStore(to, { readonly: true });
    const { counter } = await store.state();
    await store.close();
    if (counter === 0) return 'nothing';
  } catch (error) {
    if (!(error instanceof StoreRefusedError)) throw error;
    if (error.reason === 'partial-copy') return 'partial';
    // Killed while the empty store was made.
    t.true(['older-schema', 'corrupt', 'missing'].includes(error.reason), error.message);
    return 'nothing';
  }
  t.is((await compareStores(from, to)).differs, undefined);
  return 'whole';
}

function startCopy(args: readonly string[]) {
  const child = spawn(process.execPath, [signetScript, 'store', 'copy', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  return { child, ended: once(child, 'close'), said: () => said };
}

/** Duration and peak memory of an undisturbed copy. */
async function measured(t: ExecutionContext, args: readonly string[]) {
  const start = performance.now();
  const { child, ended, said } = startCopy(args);
  let peakMiB = 0;
  const watching = setInterval(() => {
    try {
      // One that has just ended holds none any more.
      peakMiB = Math.max(peakMiB, costOf(child.pid).peakMiB || 0);
    } catch {
      // Or nobody knows it.
    }
  }, 20);
  const [status] = await ended;
  clearInterval(watching);
  t.is(status, 0, said());
  return { milliseconds: performance.now() - start, peakMiB };
}

/** Kills copies until the next one is whole, and begins again in another place. Answers how often something partial was left. */
async function killOften(t: ExecutionContext, count: number, makeEnds: () => Promise<Ends>): Promise<number> {
  let ends = await makeEnds();
  const { milliseconds, peakMiB } = await measured(t, ends.args);
  t.is(await stateOf(t, ends), 'whole');
  t.log(`${ends.from.kind} to ${ends.to.kind}: ${members} members in ${Math.round(milliseconds)} ms`);
  if (costsAreKnown) assertWithin(t, 'most memory of a copy', peakMiB, 400, 'MiB');
  else t.log('skipped: memory of a process is known on Linux only');
  ends = await makeEnds();
  let partial = 0;
  for (let point = 0; point < count; point += 1) {
    const { child, ended, said } = startCopy([...ends.args, '--resume']);
    // The first part of the time goes by before anything is copied.
    await Promise.race([pause((0.2 + 0.8 * Math.random()) * milliseconds), ended]);
    child.kill('SIGKILL');
    await ended;
    t.notRegex(said(), /^signet: (?!warning)/m);
    const state = await stateOf(t, ends);
    if (state === 'partial') partial += 1;
    if (state === 'whole') ends = await makeEnds();
  }
  if ((await stateOf(t, ends)) !== 'whole') await copyStore(ends.from, ends.to, { resume: true, whileRunning: false });
  t.is(await stateOf(t, ends), 'whole');
  t.log(`${count} kills left ${partial} partial copies`);
  return partial;
}

async function databaseIn(server: PostgresServer, folder: string, config: string) {
  const database = await server.createDatabase('icu-en-US');
  const file = join(folder, `${database}.yaml`);
  const place: StorePlace = { kind: 'postgres', ...server.settings(database) };
  writeFileSync(
    file,
    `${config}store: { kind: postgres, postgres: { hosts: ['${server.host}'], database: ${database}, user: ${server.user}, connectTimeoutMs: 60000 } }\n`,
    { mode: 0o600 },
  );
  return { place, name: `postgres:${file}` };
}

test('killed at any moment, a copy is nothing, partial and refused, or whole, and goes on', async (t) => {
  t.timeout(120_000 + points * 60_000 + members);
  if (postgresPrograms === undefined) {
    t.log(`skipped: ${noPostgres}`);
    return t.pass();
  }
  const server = await startPostgres(t);
  const { folder } = await install(t, { domains: [] });
  const config = `tls: { certificate: server.cert.pem, key: server.key.pem, clientCa: bundle.pem }
certificates: { issuers: [{ certificate: issuer.cert.pem, key: issuer.key.pem }], trustDomain: signet.test }
ssh: { hostAuthority: host.pem, userAuthority: user.pem }
`;
  const file = join(folder, 'large.db');
  await largeStore(file);
  const source: StorePlace = { kind: 'sqlite', file };
  let partial = await killOften(t, Math.ceil(points / 2), async () => {
    const { place, name } = await databaseIn(server, folder, config);
    return { from: source, to: place, args: ['--from', `sqlite:${file}`, '--to', name] };
  });
  const full = await databaseIn(server, folder, config);
  await copyStore(source, full.place, { resume: false, whileRunning: false });
  let files = 0;
  partial += await killOften(t, Math.floor(points / 2), async () => {
    files += 1;
    const target = join(folder, `copy-${files}.db`);
    return {
      from: full.place,
      to: { kind: 'sqlite', file: target },
      args: ['--from', full.name, '--to', `sqlite:${target}`],
    };
  });
  t.deepEqual((await checkStore(join(folder, `copy-${files}.db`))).faults, []);
  // Of a few, all may have hit the start of the program.
  if (points >= 50) t.true(partial > 0, 'no copy was killed while it copied');
});
