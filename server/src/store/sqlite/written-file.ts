import { dirname } from 'node:path';
import { syncDirectorySync } from '@signet/policy-engine/internal/files';
import { SqliteError } from 'better-sqlite3';
import { StoreUnavailableError } from '../../errors.ts';

/** Makes the new name itself survive a crash. */
export function syncNameOf(file: string): void {
  syncDirectorySync(dirname(file));
}

/** Messages for a file that cannot be written, by the code of the system or of SQLite. */
const obstacles: readonly (readonly [code: RegExp, say: (file: string) => string])[] = [
  [/^(ENOSPC|EDQUOT|SQLITE_FULL)/, (file) => `the disk of \`${file}\` is full`],
  [/^(EFBIG|EIO|SQLITE_IOERR)/, (file) => `the disk of \`${file}\` fails or is full`],
  [/^(EROFS|EACCES|EPERM|SQLITE_READONLY)/, (file) => `\`${file}\` cannot be written`],
  [/^ENOENT/, (file) => `the folder of \`${file}\` does not exist`],
];

/** An error of the system or of SQLite while `file` was written, in the words of the server; others stay as they are. */
export function writeError(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!(error instanceof SqliteError) && !(error instanceof Error && 'syscall' in error)) return error;
  const say = obstacles.find(([pattern]) => pattern.test(code))?.[1];
  return say === undefined ? error : new StoreUnavailableError(say(file), { cause: error });
}
