import { closeSync, openSync, readSync } from 'node:fs';

/* How each file of age begins (age-encryption.org/v1). */
const beginning = 'age-encryption.org/v1\n';

/** Whether a file is one that `signet backup --all` wrote, by how it begins. One that cannot be read is none. */
export function isFullBackup(file: string): boolean {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch {
    return false;
  }
  try {
    const bytes = Buffer.alloc(beginning.length);
    return bytes.toString('latin1', 0, readSync(handle, bytes)) === beginning;
  } catch {
    return false;
  } finally {
    closeSync(handle);
  }
}
