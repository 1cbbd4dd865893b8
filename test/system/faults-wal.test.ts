import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { assertWithin } from '#support/cost';
import { repository } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';
import { json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { ecPair, requestPem } from '#support/requests';
import { runProgram } from '#support/run-program';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { until } from '#support/until';

/* The log of the store is cut off, garbled or removed: after `kill -9`, and while the server runs. */

const changes = 12;

async function makeChanges(installation: Installation, serving: Serving, from = 0, count = changes): Promise<string[]> {
  const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
  const told: string[] = [];
  for (let n = from; n < from + count; n += 1) {
    const role = `r${n}`;
    const { status } = await operator(
      `^/management/v1/domains/load/roles/${role}`,
      json({ members: ['media.m'] }, 'PUT'),
    );
    if (status === 201) told.push(role);
  }
  operator.agent.destroy();
  return told;
}

async function missingOf(t: ExecutionContext, { signet }: Installation, told: readonly string[]): Promise<number> {
  const { status, stdout, stderr } = await signet('export', '--domain', 'load');
  t.is(status, 0, stderr);
  return told.filter((role) => !new RegExp(`^  ${role}:`, 'm').test(stdout)).length;
}

/** Copy of the store's files as a kill leaves them, to be put back before each damage. */
function takeCopy(storeFile: string): () => void {
  const kept = ['', '-wal', '.witness'].map(
    (suffix) => [`${storeFile}${suffix}`, readFileSync(`${storeFile}${suffix}`)] as const,
  );
  return () => {
    rmSync(`${storeFile}-shm`, { force: true });
    for (const [file, bytes] of kept) writeFileSync(file, bytes, { mode: 0o600 });
  };
}

test.serial('a log that was damaged after a kill: the server refuses to start, or has everything', async (t) => {
  t.timeout(120_000);
  const installation = await install(t, { domains: loadDomains });
  const { storeFile, signet } = installation;
  t.is((await signet('keys', 'list')).status, 0);
  const serving = await serve(t, installation);
  const told = await makeChanges(installation, serving);
  await serving.end('SIGKILL');
  t.is(told.length, changes);
  const restoreCopy = takeCopy(storeFile);
  const log = readFileSync(`${storeFile}-wal`);
  const cut = (share: number) => () => truncateSync(`${storeFile}-wal`, Math.floor(log.length * share));
  const garble = (share: number) => () => {
    const at = Math.floor(log.length * share);
    writeFileSync(`${storeFile}-wal`, Buffer.from(log).fill(0x5a, at, at + 16));
  };
  const damages: readonly (readonly [string, () => void])[] = [
    ['removed', () => rmSync(`${storeFile}-wal`)],
    ...[0, 0.3, 0.7, 0.99].map((share) => [`cut off at ${share}`, cut(share)] as const),
    ...[0, 0.5, 0.9].map((share) => [`garbled at ${share}`, garble(share)] as const),
  ];
  let [refused, lost] = [0, 0];
  for (const [what, damage] of damages) {
    restoreCopy();
    damage();
    const { status, stderr } = await signet('serve');
    if (status === 78) {
      refused += 1;
      t.regex(stderr, /has lost changes.*signet restore.*signet store accept-loss/, what);
    } else {
      lost += await missingOf(t, installation, told);
    }
  }
  restoreCopy();
  const whole = await serve(t, installation);
  await whole.end();
  lost += await missingOf(t, installation, told);
  t.log(`${damages.length} kinds of damage, ${refused} refused with exit status 78`);
  t.is(refused, damages.length);
  assertWithin(t, `acknowledged changes lost in silence, of ${told.length}`, lost, 0);
});

test.serial(
  'a log that is removed while the server runs: nothing that is told is lost, also after a kill',
  async (t) => {
    t.timeout(120_000);
    const installation = await install(t, { domains: loadDomains });
    const { storeFile, signet } = installation;
    const serving = await serve(t, installation);
    const told = await makeChanges(installation, serving);
    for (const suffix of ['-wal', '-shm']) rmSync(`${storeFile}${suffix}`);
    told.push(...(await makeChanges(installation, serving, changes)));
    await serving.end('SIGKILL');
    const again = await serve(t, installation);
    assertWithin(t, `acknowledged changes lost, of ${told.length}`, await missingOf(t, installation, told), 0);
    t.is(await again.end(), 0);
    const check = await signet('store', 'check');
    t.is(check.status, 0, check.stdout);
  },
);

test.serial('a loss is accepted by a command, which the audit log names', async (t) => {
  t.timeout(120_000);
  const installation = await install(t, { domains: loadDomains });
  const { storeFile, signet } = installation;
  const serving = await serve(t, installation);
  await makeChanges(installation, serving);
  await serving.end('SIGKILL');
  rmSync(`${storeFile}-wal`);
  for (const command of [['export'], ['keys', 'rotate'], ['audit', 'verify']]) {
    const { status, stderr } = await signet(...command);
    t.is(status, 78, `${command.join(' ')}: ${stderr}`);
  }
  t.is((await signet('store', 'accept-loss')).status, 2, 'without a reason');
  // Steps of the guide.
  const guide = readFileSync(join(repository, 'docs/guides/when-the-store-fails.md'), 'utf8');
  const said: string[] = [];
  for (const { text } of blocksOf(guide)) {
    const finished = await runBlock(installation.folder, installation.folder, text);
    t.is(finished.status, 0, `${text}${finished.stdout}${finished.stderr}`);
    said.push(finished.stdout);
  }
  t.is(said.length, 2);
  t.regex(said[0] ?? '', /^fault: .*and change \d+ \(epoch 1\) was acknowledged.*\nexit status 1$/ms);
  t.regex(said[1] ?? '', /^epoch +2$/m);
  const { stdout } = await signet('audit', 'list', '--limit', '1', '--json');
  t.like(JSON.parse(stdout)[0], { action: 'accept-loss', reason: 'the disk was replaced' });
  const again = await serve(t, installation);
  t.deepEqual(await makeChanges(installation, again, 0, 1), ['r0']);
  t.is(await again.end(), 0);
});

test.serial('a certificate costs two syncs of the disk, its witness included', async (t) => {
  t.timeout(120_000);
  const traced = await runProgram('strace', ['-V']).catch(() => undefined);
  if (traced?.status !== 0) return t.pass('strace is not installed: syncs are not counted');
  const installation = await install(t, { domains: loadDomains });
  const trace = join(installation.folder, 'trace');
  const serving = await serve(t, installation);
  const args = ['-f', '-qq', '-e', 'trace=fsync,fdatasync', '-o', trace, '-p', String(serving.pid)];
  const tracer = spawn('strace', args, { stdio: 'ignore' });
  t.teardown(() => void tracer.kill());
  const player = serving.as(await installation.pki.identity('media.player'));
  const syncs = () => (existsSync(trace) ? (readFileSync(trace, 'utf8').match(/sync\(/g)?.length ?? 0) : 0);
  const issue = async () => {
    const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
    const { status, text } = await player('/domain/catalog/role/reader/token', json({ csr }));
    t.is(status, 200, text);
  };
  await until('the tracer is there', async () => (await issue().then(syncs)) > 0, 60_000);
  const before = syncs();
  const count = 20;
  for (let n = 0; n < count; n += 1) await issue();
  t.true(syncs() > before, 'the trace tells nothing');
  const each = (syncs() - before) / count;
  assertWithin(t, 'syncs for a certificate', each, 2);
  t.true(each >= 2, `the log and the witness are synced, each before the answer: ${each}`);
});
