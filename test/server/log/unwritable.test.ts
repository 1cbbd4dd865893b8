import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const limitBytes = 4096 * 1024;

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

/** Writes lines without end, says how many when asked to stop, and goes on for a moment so that what waits can be written. */
const chatty = (logger: string) => `
  import { createLogger } from ${JSON.stringify(logger)};
  const log = createLogger('info');
  let n = 0;
  const talk = setInterval(() => {
    for (let i = 0; i < 100; i += 1) log.info({ n: n++, text: 'x'.repeat(200) }, 'line');
    if (n === 10_000) process.stdout.write('many\\n');
  }, 2);
  process.on('SIGTERM', () => {
    clearInterval(talk);
    process.stdout.write(n + '\\n');
    process.stdin.once('data', () => process.stdin.destroy());
  });
`;

async function talkInto(
  t: ExecutionContext,
  folder: string,
): Promise<{ next(): Promise<string>; term(): void; end(): Promise<unknown> }> {
  const script = join(folder, 'chatty.ts');
  writeFileSync(script, chatty(import.meta.resolve('@signet/server/logger')));
  // A file that may not grow: the next write fails as on a full disk.
  const command = 'ulimit -f 4096; exec "$0" --conditions=@signet/source "$1" 2>>"$2"';
  const child = spawn('/bin/bash', ['-c', command, process.execPath, script, join(folder, 'log')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'close');
  return {
    next: async () => String((await lines.next()).value),
    term: () => void child.kill('SIGTERM'),
    end: () => {
      child.stdin.end('end');
      return ended;
    },
  };
}

test('a log that cannot be written costs lines, which are counted, and nothing else', async (t) => {
  const folder = temporaryFolder(t);
  const log = join(folder, 'log');
  writeFileSync(log, Buffer.alloc(limitBytes - 50_000));
  const child = await talkInto(t, folder);
  t.is(await child.next(), 'many');
  child.term();
  const said = Number(await child.next());
  const written = linesOf(log).length;
  t.true(written < said);
  truncateSync(log);
  const lines = await until('the loss is said', () => {
    const found = linesOf(log);
    return found.some((line) => line.includes('were lost')) ? found : undefined;
  });
  const lost = lines.flatMap((line) => /"lines":(\d+),"msg":"lines of the log were lost/.exec(line)?.[1] ?? []);
  // Each is in the file before, in the file after, or counted; one was cut in two and is whole with its second half.
  t.is(written + (lines.length - lost.length) + Number(lost[0]), said);
  t.deepEqual([lost.length, await child.end()], [1, [0, null]]);
});

test('a process ends also when its log cannot be written', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'log'), Buffer.alloc(limitBytes));
  const child = await talkInto(t, folder);
  t.is(await child.next(), 'many');
  child.term();
  t.true(Number(await child.next()) >= 10_000);
  t.deepEqual(await child.end(), [0, null]);
});
