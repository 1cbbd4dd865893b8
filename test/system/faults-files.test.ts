import { execFileSync } from 'node:child_process';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { install, serve } from '#support/signet-program';
import { form } from '#support/start-server';
import { until } from '#support/until';

/* The files of the store are taken from the user of the server while it serves: it goes on reading, refuses changes, says which file, and goes on. */

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const rootTest = isRoot ? test : test.skip;
if (!isRoot) test.skip('root alone can start a server of another user', (t) => t.pass());

const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });

function own(folder: string, user: number): void {
  execFileSync('chown', ['-R', `${user}:${user}`, folder]);
}

/** A server with two processes, of a user that has no rights but those of a file's owner. */
async function serving(t: ExecutionContext) {
  const installation = await install(t, { domains: loadDomains, more: 'snapshot: { refreshIntervalMs: 500 }' });
  own(installation.folder, nobody);
  const limits = `exec setpriv --reuid=${nobody} --regid=${nobody} --clear-groups "$0" "$@"`;
  const server = await serve(t, installation, { limits, args: ['--workers', '2'] });
  const as = async (name: string) => server.as(await installation.pki.identity(name));
  return { installation, server, operator: await as('sys.auth.operator'), player: await as('media.player') };
}

type World = Awaited<ReturnType<typeof serving>>;

let made = 0;

async function addRole({ server, installation }: World): Promise<number> {
  made += 1;
  // Over a connection of its own: the processes share them.
  const call = server.as(await installation.pki.identity('sys.auth.operator'));
  const body = json({ members: ['media.player'] }, 'PUT');
  const { status } = await call(`^/management/v1/domains/load/roles/made${made}`, body);
  call.agent.destroy();
  return status;
}

async function statuses(count: number, ask: () => Promise<number>): Promise<number[]> {
  const found = new Set<number>();
  for (let request = 0; request < count; request += 1) found.add(await ask());
  return [...found];
}

const faults: readonly (readonly [note: string, fault: (dataDir: string) => () => void, code: string])[] = [
  [
    'belong to root',
    (dataDir) => {
      own(dataDir, 0);
      return () => own(dataDir, nobody);
    },
    'EACCES',
  ],
  [
    'are in a folder without any rights',
    (dataDir) => {
      chmodSync(dataDir, 0o000);
      return () => chmodSync(dataDir, 0o700);
    },
    'EACCES',
  ],
  [
    'are in a folder that a file has replaced',
    (dataDir) => {
      renameSync(dataDir, `${dataDir}.away`);
      writeFileSync(dataDir, '');
      return () => {
        renameSync(dataDir, `${dataDir}.file`);
        renameSync(`${dataDir}.away`, dataDir);
      };
    },
    'ENOTDIR',
  ],
];

for (const [note, fault, code] of faults) {
  rootTest(`the files of the store ${note}: reads go on, changes are 503, and all goes on afterwards`, async (t) => {
    const world = await serving(t);
    const { server, installation, player } = world;
    t.is(await addRole(world), 201);
    const undo = fault(installation.dataDir);
    t.deepEqual(await statuses(10, () => addRole(world)), [503]);
    await until('the log names the file', () => server.errors().includes(`"code":"${code}"`));
    t.deepEqual(await statuses(5, async () => (await player('/oauth2/token', token)).status), [200]);
    t.is((await player('/readyz')).status, 200);
    t.is((await player('/readyz?for=writes')).status, 503);
    undo();
    t.deepEqual(await statuses(10, () => addRole(world)), [201]);
    await until('the store is read again', () => server.errors().includes('store is readable again'));
    t.notRegex(server.errors(), /worker ended|unexpected error|node:internal/);
    const lines = server
      .errors()
      .split('\n')
      .filter((line) => line.includes('store cannot be read'));
    t.true(
      lines.length > 0 && lines.length <= 2 && lines.every((line) => line.includes(installation.storeFile)),
      lines.join('\n'),
    );
    t.is(await server.end(), 0);
  });
}
