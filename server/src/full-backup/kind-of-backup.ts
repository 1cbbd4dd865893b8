import { closeSync, openSync, readSync, statSync } from 'node:fs';

/* Leading bytes of the files of age (age-encryption.org/v1) and of SQLite. */
const beginnings = { complete: 'age-encryption.org/v1\n', store: 'SQLite format 3\0' } as const;

/** Kind of backup by a file's first bytes, as `signet backup` writes it with `--all` or without; undefined for anything else. */
export function kindOfBackup(file: string): keyof typeof beginnings | undefined {
  const found = beginningOf(file);
  if (found.startsWith(beginnings.complete)) return 'complete';
  return found.startsWith(beginnings.store) ? 'store' : undefined;
}

function beginningOf(file: string): string {
  let handle: number;
  try {
    // Pipes are not read: their bytes would be lost to the next reader, and one without a writer would block.
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
