import { readFileSync } from 'node:fs';
import { watchOutput } from '@signet/policy-engine/internal/output';
import { removeTlsOverride } from '@signet/policy-engine/internal/tls-environment';
import { createProgram, runProgram } from './program.ts';

/** The version of this package: one place says it. */
function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : 'unknown';
}

watchOutput('signet');
removeTlsOverride(process.env, (line) => void process.stderr.write(`signet: ${line}\n`));

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
