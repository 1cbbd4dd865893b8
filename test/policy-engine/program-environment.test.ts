import test from 'ava';
import { internals } from '../limits/row.ts';

/* What programs of Signet do with their environment and their standard streams. */

const { removeTlsOverride } = await internals<{
  removeTlsOverride(environment: Record<string, string | undefined>, warn: (line: string) => void): void;
}>('policy-engine/src/tls-environment.ts');
const { lostLines, writeLines } = await internals<{
  lostLines(): number;
  writeLines(text: string, stream: NodeJS.WriteStream): void;
}>('policy-engine/src/program-output.ts');

const variable = 'NODE_TLS_REJECT_UNAUTHORIZED';
const warned = `the environment variable ${variable} is ignored: certificates of servers are verified`;
const environments: readonly (readonly [value: string | undefined, lines: readonly string[]])[] = [
  [undefined, []],
  ['0', [warned]],
  ['1', []],
  ['', []],
];
for (const [value, expected] of environments) {
  test(`${variable}=${value} is removed, and said where it would switch the verification off`, (t) => {
    const environment: Record<string, string | undefined> = { PATH: '/bin' };
    if (value !== undefined) environment[variable] = value;
    const lines: string[] = [];
    removeTlsOverride(environment, (line) => lines.push(line));
    t.deepEqual([environment, lines], [{ PATH: '/bin' }, [...expected]]);
  });
}

/** A standard stream with so many characters that wait for a reader. */
function streamWith(writableLength: number) {
  const written: string[] = [];
  const drained: (() => void)[] = [];
  const stream = {
    writableLength,
    write: (text: string) => written.push(text),
    once: (_: string, listener: () => void) => drained.push(listener),
  };
  return { stream: stream as unknown as NodeJS.WriteStream, written, drained };
}

test('lines are written while a megabyte waits for a reader, then they are counted and lost', (t) => {
  const before = lostLines();
  const fits = streamWith(999_999);
  writeLines('1', fits.stream);
  t.deepEqual([fits.written, lostLines() - before], [['1'], 0]);
  const full = streamWith(1_000_000);
  for (const line of ['1', '2', '3']) writeLines(line, full.stream);
  t.deepEqual([full.written, lostLines() - before], [[], 3]);
  // One listener reports all of them.
  t.is(full.drained.length, 1);
});
