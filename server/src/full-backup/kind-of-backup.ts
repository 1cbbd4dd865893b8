import { closeSync, openSync, readSync, statSync } from 'node:fs';

/* How each file of age (age-encryption.org/v1) and of SQLite begins. */
const beginnings = { complete: 'age-encryption.org/v1\n', store: 'SQLite format 3\0' } as const;

/** What `signet backup` wrote into a file, with `--all` or without, by how it begins; undefined for anything else. */
export function kindOfBackup(file: string): keyof typeof beginnings | undefined {
  const found = beginningOf(file);
  if (found.startsWith(beginnings.complete)) return 'complete';
  return found.startsWith(beginnings.store) ? 'store' : undefined;
}

function beginningOf(file: string): string {
  let handle: number;
  try {
    // What is read from a pipe is gone for who reads on, and one that nobody writes to is waited for.
    if (!statSync(file).isFile()) return '';
    handle = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const bytes = Buffer.alloc(beginnings.complete.length);
    return bytes.toString('latin1', 0, readSync(handle, bytes));
  } finally {
    closeSync(handle);
  }
}
