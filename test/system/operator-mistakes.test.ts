import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'ava';
import { repository, signetScript } from '#support/dev-world';
import { freePort } from '#support/free-port';
import { blocksOf } from '#support/guide';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* Each section of docs/guides/operator-mistakes.md has a command and what the programs answer to it. */

const guide = readFileSync(join(repository, 'docs/guides/operator-mistakes.md'), 'utf8');
const [introduction = '', ...sections] = guide.split(/^## /m);

test('the programs answer mistakes as the page says', async (t) => {
  t.timeout(600_000);
  t.true(sections.length >= 20);
  const folder = temporaryFolder(t);
  const port = String(await freePort());
  // Nested shell: the first one reads the startup files of the machine.
  const env = { ...process.env, SHLVL: '1', SIGNET_CONFIG: 'server/identities/user.jane.yaml' };
  const run = (text: string) => {
    const signet = `signet() { '${process.execPath}' '${signetScript}' "$@"; }\n`;
    const here = text
      .replace('signet init server --operator', `signet init server --port ${port} --operator`)
      .replaceAll('localhost:4443', `localhost:${port}`);
    return runProgram('/bin/bash', ['-euo', 'pipefail', '-c', signet + here], { cwd: folder, env });
  };
  const [make, fill] = blocksOf(introduction);
  const made = await run(make?.text ?? '');
  t.is(made.status, 0, made.stderr);
  const server = spawn(process.execPath, [signetScript, 'serve', '--config', 'server/signet.yaml'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(server, 'close');
  t.teardown(async () => {
    server.kill('SIGKILL');
    await ended;
  });
  await Promise.race([once(createInterface({ input: server.stdout }), 'line'), ended]);
  const filled = await run(fill?.text ?? '');
  t.is(filled.status, 0, filled.stderr);
  for (const section of sections) {
    const [title = ''] = section.split('\n', 1);
    const { status, stdout, stderr } = await run(blocksOf(section)[0]?.text ?? '');
    const said = `${stdout}${stderr}`
      .replaceAll(`localhost:${port}`, 'localhost:4443')
      .replaceAll(`port ${port}`, 'port 4443')
      .replaceAll(`${folder}/`, '')
      .replace(/nextAt +\S+\n/, '');
    t.true(/^```text\n(.*?)^```\n\n\S/ms.exec(section)?.[1] === said, `${title}: ${said}`);
    t.not(status, 0, title);
  }
});
