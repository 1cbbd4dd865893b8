import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { keyFilesIn } from '@signet/server/keys/key-files';
import type { Store } from '@signet/server/model/store';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { signetScript } from '#support/dev-world';
import { type Acknowledged, loadDomains, nothingYet, startLoad } from '#support/mixed-load';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { until } from '#support/until';

/*
 * `kill -9` at random points under a load of everything at once, with backups and restores in between. SIGNET_KILLS says at how many.
 */

const points = Number(process.env['SIGNET_KILLS'] ?? 6);

/** Maximum duration of the load before each kill, in milliseconds. */
const longestLoadMs = 2000;

/** Number of kills after which a backup is made, and restored after the next one. */
const restoreEvery = 6;

test('killed at any moment under a mixed load: nothing told is lost, nothing is half there', async (t) => {
  t.timeout(points * 30_000);
  const installation = await install(t, { domains: loadDomains });
  const known = nothingYet();
  const undisturbed = await timed(() => serve(t, installation));
  await undisturbed.result.end('SIGTERM');
  const starts: number[] = [];
  let serving = await serve(t, installation);
  let backup: Backup | undefined;
  for (let point = 0; point < points; point += 1) {
    const load = await startLoad(installation, serving, known);
    const before = acknowledged(known);
    // Some are killed before anything was answered; on a busy machine all would be.
    if (point % 4 > 0) await until('something is acknowledged', () => acknowledged(known) > before);
    await pause(Math.random() * longestLoadMs);
    const ended = serving.end('SIGKILL');
    await load.stop('SIGKILL');
    t.is(await ended, 'SIGKILL');
    t.deepEqual(known.surprises, [], `at point ${point}`);
    await checkEverything(t, installation, known, `at point ${point}`);
    const beside = point % restoreEvery;
    if (beside === 0) backup = await backUp(t, installation, known, point);
    else if (beside === 1 && backup !== undefined) await restore(t, installation, known, backup);
    const start = await timed(() => serve(t, installation));
    starts.push(start.milliseconds);
    serving = start.result;
    await checkTokens(t, installation, serving, known);
  }
  for (const command of [
    ['store', 'check'],
    ['audit', 'verify'],
  ]) {
    const { status, stdout, stderr } = await installation.signet(...command);
    t.is(status, 0, `${command.join(' ')}: ${stdout}${stderr}`);
  }
  t.is(await serving.end('SIGTERM'), 0);
  starts.sort((a, b) => a - b);
  t.log(
    `${points} kills; told: ${known.certificates.size} certificates, ${known.sshSerials.size} of SSH, ${known.keys.size} keys, ${known.joinTokens.size} join tokens,`,
    `${known.tokenIds.length} tokens, ${[...known.roles.values()].reduce((sum, { told }) => sum + told, 0)} role changes,`,
    `${known.documents.told} applies; start ${Math.round(undisturbed.milliseconds)} ms undisturbed,`,
    `${Math.round(starts[Math.floor(starts.length / 2)] ?? 0)} ms median and ${Math.round(starts[Math.floor(starts.length * 0.95)] ?? 0)} ms for 95 %, ${Math.round(starts.at(-1) ?? 0)} ms at most after a kill`,
  );
  t.true(known.certificates.size > 0 && known.sshSerials.size > 0 && known.tokenIds.length > 0);
});

/** Number of acknowledged changes so far. */
function acknowledged(known: Acknowledged): number {
  const { certificates, sshSerials, joinTokens, keys, documents } = known;
  const roles = [...known.roles.values()].reduce((sum, { asked }) => sum + asked, 0);
  return certificates.size + sshSerials.size + joinTokens.size + keys.size + documents.told + roles;
}

interface Backup {
  readonly file: string;
  readonly roles: ReadonlyMap<string, number>;
  readonly documents: number;
}

/** Backs up the store as the kill left it. */
async function backUp(
  t: ExecutionContext,
  { folder, signet }: Installation,
  known: Acknowledged,
  point: number,
): Promise<Backup> {
  const file = join(folder, `backup${point}`);
  const { status, stderr } = await signet('backup', file);
  t.is(status, 0, stderr);
  const roles = new Map([...known.roles].map(([name, { told }]) => [name, told]));
  return { file, roles, documents: known.documents.told };
}

/** Killed at any moment, and done again. Domains go back, and all else is there as before. */
async function restore(t: ExecutionContext, at: Installation, known: Acknowledged, backup: Backup): Promise<void> {
  const { status: killed } = await at.limitedSignet(
    `timeout -s KILL ${(Math.random() * 1.5).toFixed(2)} ${process.execPath} ${signetScript} restore ${backup.file} --config ${at.config}`,
    'store',
    'check',
  );
  t.is(killed, 0, 'a restore that was killed leaves the store before it, or the one after it');
  const { status, stderr } = await at.signet('restore', backup.file);
  t.is(status, 0, stderr);
  for (const [name, state] of known.roles) state.told = backup.roles.get(name) ?? 0;
  known.documents.told = backup.documents;
  await checkEverything(t, at, known, `after a restore of ${backup.file}`);
}

async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly milliseconds: number }> {
  const begun = performance.now();
  const result = await work();
  return { result, milliseconds: performance.now() - begun };
}

async function checkEverything(
  t: ExecutionContext,
  { storeFile, dataDir }: Installation,
  known: Acknowledged,
  when: string,
): Promise<void> {
  t.deepEqual((await checkStore(storeFile)).faults, [], when);
  const store = await openSqliteStore(storeFile, { readonly: true });
  try {
    await checkChanges(t, store, known, when);
    await checkCertificates(t, store, known, when);
    checkSshCertificates(t, storeFile, known, when);
    checkJoinTokens(t, storeFile, known, when);
    await checkKeys(t, store, join(dataDir, 'keys'), known, when);
  } finally {
    await store.close();
  }
}

/** Checks that acknowledged changes are there, or those requested after them; both parts of a change, or neither. */
async function checkChanges(t: ExecutionContext, store: Store, known: Acknowledged, when: string): Promise<void> {
  const load = await store.domain(parseDomainName('load'));
  for (const [name, state] of known.roles) {
    const members = load?.roles.find((role) => role.name === name)?.members.map((member) => member.name) ?? [];
    const [a, b, ...more] = members.map((member) => Number(member.slice('media.a'.length)));
    const isPair = a === b && more.length === 0;
    const isRight = a === undefined ? state.told === 0 : a === state.told || a === state.asked;
    t.true(isPair && isRight, `${when}: role ${name} has ${members.join()}, told ${state.told} of ${state.asked}`);
    // Numbers go on from what is there.
    state.told = a ?? 0;
  }
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const domain = await store.domain(parseDomainName(`docs.${name}`));
      return Number(domain?.roles[0]?.members[0]?.name.slice('media.n'.length) ?? 0);
    }),
  );
  const { told, asked } = known.documents;
  t.true(one === two && (one === told || one === asked), `${when}: documents ${one}, ${two}, told ${told} of ${asked}`);
  known.documents.told = one ?? 0;
}

async function checkCertificates(t: ExecutionContext, store: Store, known: Acknowledged, when: string): Promise<void> {
  for (const [serial, print] of known.certificates) {
    const row = await store.certificates.find(serial);
    t.deepEqual([row?.state, row?.fingerprint], ['issued', print], `${when}: certificate ${serial}`);
  }
  for (const [id, serial] of known.instances) {
    const record = await store.instances.find({
      provider: parsePrincipalName('sys.auth.server'),
      domain: parseDomainName('media'),
      service: parseServiceName('player'),
      instanceId: parsePathElement(id),
    });
    // A refresh whose answer was cut off may have moved it on.
    t.true(record?.currentSerial === serial || record?.previousSerial === serial, `${when}: instance ${id}`);
  }
}

/** The store itself does not tell of rows that are not X.509. */
function checkSshCertificates(t: ExecutionContext, file: string, known: Acknowledged, when: string): void {
  const database = new Database(file, { readonly: true });
  const find = database.prepare("select 1 from certificates where serial = ? and state = 'issued'");
  for (const serial of known.sshSerials) t.truthy(find.get(serial), `${when}: SSH certificate ${serial}`);
  database.close();
}

function checkJoinTokens(t: ExecutionContext, file: string, known: Acknowledged, when: string): void {
  const database = new Database(file, { readonly: true });
  const find = database.prepare('select 1 from join_tokens where instance_id = ? and spent_at is null');
  for (const id of known.joinTokens) t.truthy(find.get(id), `${when}: join token of ${id}`);
  database.close();
}

/** Every record has its private key, whole, in a file. */
async function checkKeys(
  t: ExecutionContext,
  store: Store,
  folder: string,
  known: Acknowledged,
  when: string,
): Promise<void> {
  const files = keyFilesIn(folder);
  const kids = new Set((await store.signingKeys()).map(({ kid }) => kid));
  for (const kid of known.keys) t.true(kids.has(kid), `${when}: key ${kid}`);
  for (const kid of kids) t.not(files.read(kid), undefined, `${when}: file of key ${kid}`);
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.pem'))) {
    t.notThrows(() => files.read(name.slice(0, -'.pem'.length)), `${when}: key file ${name}`);
  }
}

/** No token id comes twice, and what was signed before the kill is verified after it. */
async function checkTokens(
  t: ExecutionContext,
  { pki }: Installation,
  serving: Serving,
  known: Acknowledged,
): Promise<void> {
  t.is(new Set(known.tokenIds).size, known.tokenIds.length);
  const player = serving.as(await pki.identity('media.player'));
  const { body } = await player('/oauth2/keys?rfc=true');
  const keys = createLocalJWKSet(body as Parameters<typeof createLocalJWKSet>[0]);
  for (const token of known.tokens.slice(-3)) await t.notThrowsAsync(jwtVerify(token, keys));
  player.agent.destroy();
}
