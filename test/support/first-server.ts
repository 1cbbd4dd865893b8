import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { repository, signetScript } from './dev-world.ts';
import { freePort } from './free-port.ts';
import { blocksOf } from './guide.ts';
import { type Finished, runProgram } from './run-program.ts';
import type { Ending } from './start-server.ts';

/** The commands of the guide to a first server: those before the server is started, the one that starts it, and those after. */
export function firstServerCommands(): { readonly before: string; readonly serve: string; readonly after: string } {
  const texts = blocksOf(readFileSync(join(repository, 'docs/guides/first-server.md'), 'utf8')).map(({ text }) => text);
  const at = texts.findIndex((text) => text.startsWith('signet serve'));
  return { before: texts.slice(0, at).join(''), serve: texts[at] ?? '', after: texts.slice(at + 1).join('') };
}

/** Does in a folder what the guide says, each terminal a shell, with further options of `signet init`. Answers what each shell said. */
export async function followFirstServer(t: Ending, folder: string, more = ''): Promise<readonly [Finished, Finished]> {
  const port = await freePort();
  const here = (text: string) =>
    text
      .replace('signet init server', `signet init server --port ${port} ${more}`)
      .replaceAll('localhost:4443', `localhost:${port}`);
  const { SIGNET_CONFIG: _, ...env } = process.env;
  const shell = (text: string) => {
    const signet = `signet() { '${process.execPath}' '${signetScript}' "$@"; }\n`;
    return ['-euo', 'pipefail', '-c', signet + here(text)];
  };
  const { before, serve, after } = firstServerCommands();
  const made = await runProgram('/bin/bash', shell(before), { cwd: folder, env });
  if (made.status !== 0) return [made, made];
  const [, ...args] = serve.trim().split(' ');
  const child = spawn(process.execPath, [signetScript, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  return [made, await runProgram('/bin/bash', shell(after), { cwd: folder, env })];
}
