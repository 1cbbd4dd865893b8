import { readFileSync, statSync } from 'node:fs';
import { UsageError } from './run.ts';

/** Characters; a shorter one could be guessed. */
const shortestPassphrase = 12;
const secretFileBytes = 1024;

/** The first line of a file that only its owner can read. Throws `UsageError`, and errors of the system. */
export function readPassphrase(file: string): string {
  const [line = ''] = readSecretFile(file).split(/\r?\n/);
  if (line.length >= shortestPassphrase) return line;
  throw new UsageError(
    `the passphrase in \`${file}\` is too short: it must have ${shortestPassphrase} characters or more`,
  );
}

/** A short file that only its owner can read. Throws `UsageError`, and errors of the system. */
export function readSecretFile(file: string): string {
  const stats = statSync(file);
  if (!stats.isFile() || stats.size > secretFileBytes)
    throw new UsageError(`\`${file}\` is not a file of at most ${secretFileBytes} bytes`);
  // Windows knows no modes of this kind.
  if (process.getuid !== undefined && (stats.mode & 0o077) !== 0) {
    throw new UsageError(`\`${file}\` can be read by others: its mode must be 0600`);
  }
  return readFileSync(file, 'utf8');
}
