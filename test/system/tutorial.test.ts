import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'ava';
import { repository, startDevWorld } from '#support/dev-world';
import { freePort } from '#support/free-port';
import { blocksOf } from '#support/guide';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* The tutorial as it is printed, in a folder as a checkout is one, but for the ports, which are free ones here. */

const tutorial = readFileSync(join(repository, 'docs/tutorial/protect-a-service.md'), 'utf8');

test('every command of the tutorial does what the tutorial says', async (t) => {
  t.timeout(300_000);
  const folder = temporaryFolder(t);
  cpSync(join(repository, 'policies'), join(folder, 'policies'), { recursive: true });
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const world = await startDevWorld({ folder: join(folder, '.signet'), cwd: folder });
  t.teardown(() => world.stop().then(() => undefined));
  const port = await freePort();
  const here = (text: string) =>
    text
      .replaceAll('https://localhost:4443/v1', world.state.baseUrl)
      .replaceAll('listen(8443', `listen(${port}`)
      .replaceAll('localhost:8443', `localhost:${port}`);

  let service: ReturnType<typeof spawn> | undefined;
  t.teardown(() => service?.kill('SIGKILL'));
  const logged: string[] = [];
  let said = '';
  for (const { text, kind } of blocksOf(tutorial)) {
    if (text.startsWith('npx node ')) {
      const [, , ...args] = text.replace(' &\n', '').split(' ');
      service = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
      if (service.stdout === null) return t.fail('its output is not read');
      const lines = createInterface({ input: service.stdout }).on('line', (line) => logged.push(line));
      await Promise.race([once(lines, 'line'), once(service, 'close')]);
      continue;
    }
    const commands = here(text).replace('kill %1', `kill ${service?.pid}`);
    const { status, stdout, stderr } = await runProgram('/bin/bash', ['-euo', 'pipefail', '-c', commands], {
      cwd: folder,
    });
    t.is(status === 0, kind !== 'refused', `${text}${stdout}${stderr}`);
    said += `${stdout}${stderr}`;
  }
  t.deepEqual(logged, ['the library is open', 'GET ALLOW', 'POST DENY_NO_MATCH', 'POST ALLOW']);
  for (const [, output = ''] of tutorial.matchAll(/^```text\n(.*?)^```$/gms)) {
    for (const line of output.trim().split('\n')) {
      if (line !== '…') t.true(said.includes(line.replace('(…)', '')), line);
    }
  }
});
