import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/** What the signatures of a release are for: one made for anything else is not accepted in its place. */
const namespace = 'signet-release';

/** The digest of a file's bytes, in hexadecimal. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Writes `SHA256SUMS` of every file in the folder, as `sha256sum --check` reads it. */
export function writeChecksums(folder: string): void {
  const files = readdirSync(folder).filter((name) => !name.startsWith('SHA256SUMS'));
  const lines = files.toSorted().map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

/** Signs them with a key of OpenSSH, which may be in an agent or on a token: `key` is the file of its private or public half. */
export function signChecksums(folder: string, key: string): void {
  run('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', namespace, join(folder, 'SHA256SUMS')]);
}
