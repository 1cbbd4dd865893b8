import test from 'ava';
import { runProgram } from '#support/run-program';

/** Counts what is written to standard error, by a clock that only the program moves. */
const program = (logger: string) => `
  import fs from 'node:fs';
  import { mock } from 'node:test';
  import { setImmediate as turn } from 'node:timers/promises';
  import { createLogger } from ${JSON.stringify(logger)};
  const { write } = fs;
  const written = [];
  let running = 0;
  fs.write = (fd, bytes, callback) => {
    written.push(bytes.toString().split('\\n').length - 1);
    running += 1;
    write(fd, bytes, (...result) => {
      running -= 1;
      callback(...result);
    });
  };
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const log = createLogger('info');
  const seen = {};
  const pass = async (name, ms) => {
    mock.timers.tick(ms);
    do await turn(); while (running > 0);
    seen[name] = written.splice(0);
  };
  await pass('nothing waits', 10_000);
  log.info('one');
  log.info('two');
  await pass('not yet', 19);
  await pass('together', 1);
  await pass('nothing waits again', 10_000);
  log.info('three');
  await pass('later', 200);
  for (let line = 0; line < 100; line += 1) log.info({ text: 'x'.repeat(200) }, 'many');
  log.info('rest');
  await pass('much', 0);
  await pass('rest', 200);
  for (let line = 0; line < 5000; line += 1) log.info({ text: 'x'.repeat(300) }, 'more than there is room for');
  // Until all of it is written: a full pipe is tried again.
  do await pass('loss', 200); while (seen.loss.some((lines) => lines > 0));
  await pass('the end', 10_000);
  console.log(JSON.stringify(seen));
`;

test('a log is written while lines wait, and an idle process writes nothing', async (t) => {
  const script = program(import.meta.resolve('@signet/server/logger'));
  const words = ['--conditions=@signet/source', '--input-type=module', '--eval', script];
  const { status, stdout, stderr } = await runProgram(process.execPath, words, { env: process.env });
  t.is(status, 0, stderr);
  t.regex(stderr, /lines of the log were lost/);
  const { much = [], rest = [], ...seen } = JSON.parse(stdout) as Record<string, number[]>;
  t.deepEqual([much.length, rest.length, [...much, ...rest].reduce((sum, lines) => sum + lines)], [1, 1, 101]);
  t.deepEqual(seen, {
    'nothing waits': [],
    'not yet': [],
    together: [2],
    'nothing waits again': [],
    later: [1],
    loss: [],
    'the end': [],
  });
});
