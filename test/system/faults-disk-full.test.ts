import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { field, instanceRequest, json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { ecPair, requestPem } from '#support/requests';
import { runProgram } from '#support/run-program';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { type Answer, form } from '#support/start-server';
import { until } from '#support/until';

/*
 * A full disk while the server runs. As a rule its files may not grow, so that writes fail just as late; SIGNET_SMALL_DISK names a folder on a
 * small file system of its own (such as a tmpfs of 8 MB) that is really filled instead.
 */

const smallDisk = process.env['SIGNET_SMALL_DISK'];

interface World {
  readonly installation: Installation;
  readonly serving: Serving;
  fill(): void;
  free(): Promise<boolean>;
}

async function start(t: ExecutionContext): Promise<World> {
  const dataDir = smallDisk === undefined ? undefined : mkdtempSync(join(smallDisk, 'signet-'));
  if (dataDir !== undefined) t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const installation = await install(t, { domains: loadDomains, ...(dataDir !== undefined && { dataDir }) });
  // In units of 1024 bytes: more than the store has at the beginning, less than it soon would have.
  const limits = smallDisk === undefined ? 'ulimit -S -f 600' : ':';
  const serving = await serve(t, installation, { limits });
  const filler = join(dataDir ?? installation.folder, 'filler');
  return {
    installation,
    serving,
    fill: () => {
      if (smallDisk !== undefined) fillDisk(filler);
    },
    free: async () => {
      if (smallDisk === undefined) return await raiseLimit(serving.pid);
      rmSync(filler);
      return true;
    },
  };
}

function fillDisk(file: string): void {
  for (const size of [65_536, 4096]) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(size));
    } catch {
      // Full.
    }
  }
}

/** False where there is no program for it. */
async function raiseLimit(pid: number): Promise<boolean> {
  const raised = await runProgram('prlimit', ['--pid', String(pid), '--fsize=unlimited']).catch(() => undefined);
  return raised?.status === 0;
}

const unavailable =
  /^the (disk of the store is full|disk of the store fails or is full|files of the store cannot be opened)$/;

function checkRefusal(t: ExecutionContext, what: string, { status, headers, body }: Answer): void {
  t.is(status, 503, what);
  t.is(headers['retry-after'], '5', what);
  t.regex((body as { message: string }).message, unavailable, what);
}

test('a full disk: reads go on, writes say 503 and leave nothing, and it is over when there is space', async (t) => {
  const world = await start(t);
  const { installation, serving } = world;
  const identity = async (name: string) => serving.as(await installation.pki.identity(name));
  const operator = await identity('sys.auth.operator');
  const player = await identity('media.player');
  const studio = await identity('media.studio');
  const admin = await identity('media.admin');
  const joinToken = (id: string) => admin(`/instance/sys.auth.server/media/player/${id}/token`);

  const put = (n: number, fill = '') => {
    const members = Array.from({ length: fill === '' ? 1 : 200 }, (_, index) => `media.${fill}m${n}x${index}`);
    return operator(`^/management/v1/domains/load/roles/r${n}`, json({ members }, 'PUT'));
  };
  const before = await joinToken('i1');
  let told = 1;
  t.is((await put(0)).status, 201);
  world.fill();
  let refused: Answer | undefined;
  while (refused === undefined) {
    const answer = await put(told, 'a-long-name-that-takes-some-room-on-the-disk-');
    if (answer.status === 201) told += 1;
    else refused = answer;
  }
  checkRefusal(t, 'a change', refused);

  const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
  const registration = (attestation: unknown) => {
    const attestationData = String(field(attestation, 'attestationData'));
    const names = { provider: 'sys.auth.server', domain: 'media', service: 'player' };
    return serving.as()('/instance', json({ ...names, attestationData, csr: instanceRequest('i1') }));
  };
  const writes: readonly (readonly [what: string, ask: () => Promise<Answer>])[] = [
    ['a role certificate', () => player('/domain/catalog/role/reader/token', json({ csr }))],
    ['a join token', () => joinToken('i2')],
    ['an instance', () => registration(before.body)],
    ['a deletion', () => operator('^/management/v1/domains/load/roles/r0', { method: 'DELETE' })],
  ];
  // What is small may still find room in what is there, for a while.
  for (let most = 0; most < 1000; most += 1) {
    if ((await joinToken(`more${most}`)).status === 503) break;
  }
  for (const [what, ask] of writes) checkRefusal(t, what, await ask());
  const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
  const reads: readonly (readonly [what: string, ask: () => Promise<Answer>])[] = [
    ['a token', () => player('/oauth2/token', token)],
    ['an access check', () => player('/access/read?resource=catalog:movie')],
    ['a bundle', () => player('/domain/catalog/policy/signed')],
    ['the keys', () => player('/oauth2/keys')],
    ['a look at a role', () => operator('^/management/v1/domains/load/roles/r0')],
    ['readiness', () => studio('/readyz')],
  ];
  for (const [what, ask] of reads) {
    const { status, text } = await ask();
    t.is(status, 200, `${what}: ${text}`);
  }

  if (!(await world.free())) return t.pass('nothing here can give the space back');
  const begun = performance.now();
  await until('changes are taken again', async () => (await put(told)).status === 201, 5000);
  t.log(`changes were taken ${Math.round(performance.now() - begun)} ms after there was space`);
  t.is((await player('/domain/catalog/role/reader/token', json({ csr }))).status, 200);
  // The token of before may have been spent, in the last room that there was.
  const late = await registration((await joinToken('i1')).body);
  t.is(late.status, 201, late.text);
  t.is(await serving.end(), 0);
  const store = await openSqliteStore(installation.storeFile);
  const load = await store.domain(parseDomainName('load'));
  t.is(load?.roles.filter(({ name }) => name.startsWith('r')).length, told + 1);
  await store.close();
  t.deepEqual((await checkStore(installation.storeFile)).faults, []);
});

test('a full disk under a command: one line, its exit status, and nothing changed or left', async (t) => {
  const { folder, dataDir, storeFile, signet, limitedSignet } = await install(t, { domains: loadDomains });
  t.is((await signet('keys', 'rotate')).status, 0);
  t.is((await signet('backup', join(folder, 'good'))).status, 0);
  mkdirSync(join(folder, 'docs'));
  writeFileSync(join(folder, 'docs/new.yaml'), 'domain: new\n');
  const { digest } = await checkStore(storeFile);
  const files = () => [folder, dataDir, join(dataDir, 'keys')].map((path) => readdirSync(path).filter(isLasting));
  const before = files();
  const commands: readonly (readonly [kilobytes: number, ...args: string[]])[] = [
    [100, 'backup', join(folder, 'copy')],
    [100, 'restore', join(folder, 'good')],
    [8, 'apply', join(folder, 'docs')],
    [8, 'keys', 'rotate'],
    [0, 'keys', 'rotate'],
  ];
  for (const [kilobytes, ...args] of commands) {
    // Node writes its cache when a program ends, and a file that grows too large then ends it by a signal.
    const limits = `unset NODE_COMPILE_CACHE; ulimit -f ${kilobytes}`;
    const { status, stdout, stderr } = await limitedSignet(limits, ...args);
    // What the system says of a file is a failure; a store without room may have some later.
    const expected = stderr.includes('EFBIG') ? 1 : 75;
    t.deepEqual([status, stdout], [expected, ''], `${args.join(' ')}: ${stderr}`);
    t.regex(stderr, /^signet: .*(is full|fails or is full|cannot be opened|EFBIG).*\n$/, args.join(' '));
  }
  t.deepEqual(files(), before);
  t.is((await checkStore(storeFile)).digest, digest);
});

/** The files beside the store that SQLite makes and removes come and go. */
function isLasting(name: string): boolean {
  return !/-(wal|shm)$/.test(name);
}
