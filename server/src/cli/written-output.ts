import { randomBytes } from 'node:crypto';
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { ConflictError } from '../errors.ts';

/* Files that a command was told to write. None goes through a link: whoever put the link there would choose what is written over. */

export interface OutputOptions {
  /** Write over what is there. */
  readonly force: boolean;
  readonly mode?: 0o600 | 0o644;
}

/** Throws `ConflictError` when something has this name, also a link that leads nowhere. */
export function refuseExisting(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  throw new ConflictError(`\`${file}\` exists: use \`--force\` to write over it`);
}

/**
 * Writes a file for its owner alone unless `mode` says otherwise. With `force`, what is there is replaced as a whole: a link itself, not
 * what it leads to, and the new file has no owner and mode of the old one. Throws `ConflictError` when it exists.
 */
export function writeOutput(file: string, text: string, { force, mode = 0o600 }: OutputOptions): void {
  if (!force) {
    refuseExisting(file);
    writeFileSync(file, text, { flag: 'wx', mode, flush: true });
    return;
  }
  const partial = `${file}.partial-${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(partial, text, { flag: 'wx', mode, flush: true });
    renameSync(partial, file);
  } finally {
    rmSync(partial, { force: true });
  }
}
