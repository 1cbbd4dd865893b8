import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { assertWithin } from '#support/cost';
import { field, json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { runProgram } from '#support/run-program';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { form } from '#support/start-server';
import { until } from '#support/until';

/* Server start on a disk which is full, or read-only: a small file system of its own, where this user may make one. */

interface Disk {
  readonly folder: string;
  stop(): Promise<void>;
  free(): Promise<void>;
}

async function run(program: string, ...args: readonly string[]): Promise<boolean> {
  const finished = await runProgram(program, args).catch(() => undefined);
  return finished?.status === 0;
}

/** A file system in memory; undefined where this user may make none. */
async function mountDisk(t: ExecutionContext): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-disk-'));
  const mounted = await run('mount', '-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', folder);
  t.teardown(async () => {
    if (mounted) await run('umount', '-l', folder);
    rmSync(folder, { recursive: true, force: true });
  });
  return mounted ? folder : undefined;
}

const disks: Readonly<Record<string, (folder: string) => Disk>> = {
  full: (folder) => ({
    folder,
    stop: async () => {
      for (const size of [65_536, 4096, 1]) {
        try {
          for (;;) appendFileSync(join(folder, 'filler'), Buffer.alloc(size));
        } catch {
          // Full.
        }
      }
    },
    free: async () => rmSync(join(folder, 'filler')),
  }),
  'read-only': (folder) => ({
    folder,
    stop: async () => {
      if (!(await run('mount', '-o', 'remount,ro', folder))) throw new Error('cannot be mounted read-only');
    },
    free: async () => {
      await run('mount', '-o', 'remount,rw', folder);
    },
  }),
};

/**
 * Twenty changes that are in the log of the store, and nowhere else: more than the file of the store has room for, so that a full disk keeps
 * them there.
 */
async function fillLog(installation: Installation, serving: Serving): Promise<void> {
  const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
  for (let n = 0; n < 20; n += 1) {
    const members = Array.from({ length: 60 }, (_, index) => `media.m${n}-${index}`);
    await operator(`^/management/v1/domains/load/roles/r${n}`, json({ members }, 'PUT'));
  }
  operator.agent.destroy();
}

for (const [kind, diskOf] of Object.entries(disks)) {
  for (const end of ['SIGTERM', 'SIGKILL'] as const) {
    test.serial(
      `a server started on a ${kind} disk after ${end} serves what it can read, and changes when it can`,
      async (t) => {
        t.timeout(120_000);
        const folder = await mountDisk(t);
        if (folder === undefined) return t.pass('this user may mount nothing');
        const disk = diskOf(folder);
        const installation = await install(t, { domains: loadDomains, dataDir: join(folder, 'data') });
        const before = await serve(t, installation);
        await fillLog(installation, before);
        await before.end(end);
        await disk.stop();
        const serving = await serve(t, installation);
        await checkReads(t, installation, serving);
        await checkCommands(t, installation);
        const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
        const change = () => operator('^/management/v1/domains/load/roles/late', json({ members: ['media.x'] }, 'PUT'));
        const refused = await change();
        t.deepEqual([refused.status, refused.headers['retry-after']], [503, '5'], refused.text);
        await disk.free();
        const begun = performance.now();
        await until('changes are taken', async () => (await change()).status === 201, 5000);
        const { body } = await operator('^/readyz');
        t.is(field(body, 'store'), 'readable');
        assertWithin(
          t,
          `changes are taken after there is space (${kind}, ${end})`,
          performance.now() - begun,
          5000,
          'ms',
        );
        t.is(await serving.end(), 0);
        t.is((await installation.signet('store', 'check')).status, 0);
      },
    );
  }
}

async function checkReads(t: ExecutionContext, { pki }: Installation, serving: Serving): Promise<void> {
  const player = serving.as(await pki.identity('media.player'));
  const operator = serving.as(await pki.identity('sys.auth.operator'));
  const reads = {
    token: () => player('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' })),
    access: () => player('/access/read?resource=catalog:movie'),
    bundle: () => player('/domain/catalog/policy/signed'),
    keys: () => player('/oauth2/keys'),
    'the last change': () => operator('^/management/v1/domains/load/roles/r19'),
    readiness: () => operator('/readyz'),
  };
  for (const [what, ask] of Object.entries(reads)) {
    const { status, text, body } = await ask();
    t.is(status, 200, `${what}: ${text}`);
    if (what === 'readiness') t.like(body, { status: 'ready', store: 'read-only' });
  }
}

async function checkCommands(t: ExecutionContext, { signet }: Installation): Promise<void> {
  const commands = [['store', 'check'], ['export'], ['audit', 'verify'], ['keys', 'list']];
  const finished = await Promise.all(commands.map((args) => signet(...args)));
  for (const [at, { status, stdout, stderr }] of finished.entries()) {
    t.is(status, 0, `${commands[at]?.join(' ')}: ${stdout}${stderr}`);
  }
  t.regex(finished[1]?.stdout ?? '', /media\.m19/);
}
