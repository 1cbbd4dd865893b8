import { readFileSync } from 'node:fs';
import { removeTlsOverride } from '@signet/policy-engine/internal/tls-environment';
import { createProgram, runProgram } from './program.ts';

/** The version of this package: one place says it. */
function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : 'unknown';
}

removeTlsOverride(process.env, (line) => void process.stderr.write(`signet: ${line}\n`));

// A reader that stops early, as in `signet keys list | head -n 1`, is not a failure of ours.
let isStdoutLost = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    // Once, also where each write fails.
    if (stream === process.stdout && !isStdoutLost) {
      isStdoutLost = true;
      process.stderr.write(`signet: standard output cannot be written (${error.code ?? error.message})\n`);
    }
    process.exitCode = 1;
  });
}

// A file at its size limit (`ulimit -f`) is a full disk: a write that fails, not the end of the process.
process.on('SIGXFSZ', () => undefined);

try {
  const argv = process.argv.slice(2);
  process.exitCode = await runProgram(await createProgram(packageVersion(), argv), argv);
} catch (error) {
  const { describeError } = await import('./cli/run.ts');
  process.stderr.write(`signet: ${describeError(error)}\n`);
  process.exitCode = 1;
}
