import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { parse, stringify } from 'yaml';
import { type DevWorld, startDevWorld, updaterScript } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { until } from '#support/until';

/* Two updaters on one host, with one policy directory: real programs, and a real server. */

/** The configuration of the sample's updater, with a policy directory of its own. */
function configIn(world: DevWorld): { readonly config: string; readonly policyDir: string } {
  const settings = parse(readFileSync(join(world.folder, 'updater.yaml'), 'utf8'));
  const policyDir = join(world.folder, 'policy-of-two');
  const config = join(world.folder, 'two.yaml');
  writeFileSync(config, stringify({ ...settings, policyDir }));
  return { config, policyDir };
}

/** The daemon, once it has ended its first run. */
async function startDaemon(t: ExecutionContext, config: string) {
  const child = spawn(process.execPath, [updaterScript, 'run', '--config', config, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const closed = once(child, 'close');
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), closed]);
  t.like(JSON.parse(String(line)), { ready: true, exitStatus: 0 });
  return { child, closed, errors: () => errors };
}

test('one updater has the directory, however the others come and however it ends', async (t) => {
  t.timeout(600_000);
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const { config, policyDir } = configIn(world);
  const updater = (command: string) => runProgram(process.execPath, [updaterScript, command, '--config', config]);
  const refusal =
    `signet-updater: policy directory \`${policyDir}\` is in use by another updater: ` +
    'stop it, or set another `policyDir` for this one\n';

  const first = await startDaemon(t, config);
  for (const command of ['run', 'once']) {
    const { status, stdout, stderr } = await updater(command);
    t.deepEqual([status, stdout], [6, ''], command);
    t.true(stderr.endsWith(refusal), stderr);
  }
  t.is((await updater('status')).status, 0);

  // In a container the number of the first one's process means nothing.
  const apart = ['--pid', '--fork', '--mount-proc'];
  if ((await runProgram('unshare', [...apart, 'true']).catch(() => undefined))?.status === 0) {
    const { status } = await runProgram('unshare', [
      ...apart,
      process.execPath,
      updaterScript,
      'once',
      '--config',
      config,
    ]);
    t.is(status, 6, 'from another process namespace');
  } else t.log('skipped: no process namespaces here');

  // A reader that stops early gets no error, and changes nothing of the answer.
  const head = `set -o pipefail; "$0" "$1" status --config "$2" | head -n 1`;
  const read = await runProgram('bash', ['-c', head, process.execPath, updaterScript, config]);
  t.deepEqual([read.status, read.stderr, read.stdout.split('\n').length], [0, '', 2]);

  first.child.kill('SIGKILL');
  await first.closed;
  t.is((await updater('once')).status, 0, 'a killed one keeps nobody out');

  // The directory is swapped under a daemon, and another one is quicker: the first sleeps, or its own timer may win.
  const second = await startDaemon(t, config);
  second.child.kill('SIGSTOP');
  renameSync(policyDir, `${policyDir}.old`);
  const third = await startDaemon(t, config);
  second.child.kill('SIGCONT');
  second.child.kill('SIGUSR1');
  await until('it says that it has lost the directory', () => second.errors().includes('is in use by another updater'));
  third.child.kill('SIGTERM');
  t.deepEqual(await third.closed, [0, null]);
  await until('it has the directory again', async () => {
    second.child.kill('SIGUSR1');
    return (await updater('once')).status === 6;
  });
  second.child.kill('SIGTERM');
  t.deepEqual(await second.closed, [0, null]);
});
