import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { lockFile } from '@signet/policy-engine/internal/files';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const once = { waitMs: 0 };
const patient = { waitMs: 60_000 };

test('one has the lock, in one process too, and its file goes with it', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, '.lock');
  const first = await lockFile(path, once);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.is(await lockFile(path, once), undefined);
  const next = lockFile(path, patient);
  await first?.[Symbol.asyncDispose]();
  const second = await next;
  t.truthy(second);
  t.is(await lockFile(path, once), undefined);
  await second?.[Symbol.asyncDispose]();
  t.deepEqual(readdirSync(folder), []);
});

test('of many that want it at once, one after the other has it', async (t) => {
  const path = join(temporaryFolder(t), '.lock');
  let inside = 0;
  const most = await Promise.all(
    Array.from({ length: 8 }, async () => {
      await using _ = await lockFile(path, patient);
      inside += 1;
      const seen = inside;
      await new Promise(setImmediate);
      inside -= 1;
      return seen;
    }),
  );
  t.deepEqual(new Set(most), new Set([1]));
});

test('a process that is killed leaves a file and no lock', async (t) => {
  const path = join(temporaryFolder(t), '.lock');
  const module = import.meta.resolve('@signet/policy-engine/internal/files');
  const script = `const { lockFile } = await import(process.argv[1]);
    await lockFile(process.argv[2], { waitMs: 0 });
    console.log('locked');
    setInterval(() => undefined, 60_000);`;
  const flags = ['--conditions=@signet/source', '--input-type=module', '-e'];
  const child = spawn(process.execPath, [...flags, script, module, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  for await (const line of createInterface(child.stdout)) {
    t.is(line, 'locked');
    break;
  }
  t.is(await lockFile(path, once), undefined);
  child.kill('SIGKILL');
  await ended;
  t.true(existsSync(path));
  const lock = await lockFile(path, once);
  t.truthy(lock);
  await lock?.[Symbol.asyncDispose]();
});

for (const [name, place] of [
  ['a folder', (path: string) => mkdirSync(path)],
  ['a link', (path: string) => symlinkSync(`${path}-elsewhere`, path)],
] as const) {
  test(`${name} in its place is not locked`, async (t) => {
    const path = join(temporaryFolder(t), '.lock');
    writeFileSync(`${path}-elsewhere`, '');
    place(path);
    await t.throwsAsync(lockFile(path, once), { message: `\`${path}\` is not a plain file` });
  });
}

test('a signal ends the waiting', async (t) => {
  const path = join(temporaryFolder(t), '.lock');
  await using _ = await lockFile(path, once);
  const abort = new AbortController();
  const waiting = lockFile(path, { ...patient, signal: abort.signal });
  abort.abort();
  await t.throwsAsync(waiting, { name: 'AbortError' });
});
