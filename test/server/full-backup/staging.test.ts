import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { withStaging } from '@signet/server/full-backup/staging';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/** A process in the middle of its work: it has written a secret. */
async function working(t: ExecutionContext, parent: string) {
  const script = `const { withStaging } = await import(process.argv[1]);
    const { writeFileSync } = await import('node:fs');
    await withStaging(process.argv[2], 'backup', async (folder) => {
      writeFileSync(folder + '/key', 'secret');
      console.log(folder);
      await new Promise((resolve) => setTimeout(resolve, 3_600_000));
    });`;
  const module = import.meta.resolve('@signet/server/full-backup/staging');
  const flags = ['--conditions=@signet/source', '--input-type=module', '-e'];
  const child = spawn(process.execPath, [...flags, script, module, parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_, signal) => resolve(signal)));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const folder = String((await lines.next()).value);
  t.is(readFileSync(join(folder, 'key'), 'utf8'), 'secret');
  return { child, folder, ended };
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} leaves nothing behind`, async (t) => {
    const parent = temporaryFolder(t);
    const { child, ended } = await working(t, parent);
    child.kill(signal);
    t.is(await ended, signal);
    t.deepEqual(readdirSync(parent), []);
  });
}

test('what a process that was killed has left goes with the next work, and that of one at work stays', async (t) => {
  const parent = temporaryFolder(t);
  const killed = await working(t, parent);
  const other = await working(t, parent);
  killed.child.kill('SIGKILL');
  await killed.ended;
  t.true(existsSync(killed.folder));
  // What is called otherwise belongs to somebody else.
  writeFileSync(join(parent, '.signet-backup-x'), '');
  await withStaging(parent, 'restore', async (folder) => {
    t.is(statSync(folder).mode & 0o777, 0o700);
    t.false(existsSync(killed.folder));
    t.true(existsSync(other.folder));
    writeFileSync(join(folder, 'made'), '');
    renameSync(folder, join(parent, 'made'));
  });
  const stays = ['.signet-backup-x', 'made', other.folder.split('/').at(-2) ?? ''];
  t.deepEqual(readdirSync(parent).sort(), stays.sort());
});

test('an error leaves nothing behind', async (t) => {
  const parent = temporaryFolder(t);
  await t.throwsAsync(
    withStaging(parent, 'backup', async (folder) => {
      writeFileSync(join(folder, 'key'), 'secret');
      throw new Error('the disk is full');
    }),
    { message: 'the disk is full' },
  );
  t.deepEqual(readdirSync(parent), []);
});
