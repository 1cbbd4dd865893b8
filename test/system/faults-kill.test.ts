import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { keyFilesIn } from '@signet/server/keys/key-files';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open';
import type { Store } from '@signet/server/store/store';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { type Acknowledged, loadDomains, nothingYet, startLoad } from '#support/mixed-load';
import { type Installation, install, type Serving, serve } from '#support/signet-program';

/* `kill -9` at random points under a load of everything at once. SIGNET_KILLS says at how many. */

const points = Number(process.env['SIGNET_KILLS'] ?? 6);

/** How long the load runs before each kill, in milliseconds: at most. */
const longestLoadMs = 2000;

test('killed at any moment under a mixed load: nothing told is lost, nothing is half there', async (t) => {
  t.timeout(points * 30_000);
  const installation = await install(t, { domains: loadDomains });
  const known = nothingYet();
  const undisturbed = await timed(() => serve(t, installation));
  await undisturbed.result.end('SIGTERM');
  const starts: number[] = [];
  let serving = await serve(t, installation);
  for (let point = 0; point < points; point += 1) {
    const load = await startLoad(installation, serving, known);
    await pause(Math.random() * longestLoadMs);
    const ended = serving.end('SIGKILL');
    await load.stop('SIGKILL');
    t.is(await ended, 'SIGKILL');
    t.deepEqual(known.surprises, [], `at point ${point}`);
    await checkEverything(t, installation, known, `at point ${point}`);
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
    `${points} kills; told: ${known.certificates.size} certificates, ${known.sshSerials.size} of SSH, ${known.keys.size} keys,`,
    `${known.tokenIds.length} tokens, ${[...known.roles.values()].reduce((sum, { told }) => sum + told, 0)} role changes,`,
    `${known.documents.told} applies; start ${Math.round(undisturbed.milliseconds)} ms undisturbed,`,
    `${Math.round(starts[Math.floor(starts.length / 2)] ?? 0)} ms median and ${Math.round(starts[Math.floor(starts.length * 0.95)] ?? 0)} ms for 95 %, ${Math.round(starts.at(-1) ?? 0)} ms at most after a kill`,
  );
  t.true(known.certificates.size > 0 && known.sshSerials.size > 0 && known.tokenIds.length > 0);
});

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
    await checkKeys(t, store, join(dataDir, 'keys'), known, when);
  } finally {
    await store.close();
  }
}

/** What was told is there, or what was asked after it; both parts of a change, or neither. */
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
