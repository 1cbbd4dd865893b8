import { lstatSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { createFile, replaceFile } from '@signet/policy-engine/internal/files';
import { ConflictError } from '../errors.ts';

/* Files that a command writes. None goes through a link: its creator would choose what is overwritten. */

interface OutputOptions {
  /** Write over what is there. */
  readonly force: boolean;
  readonly mode?: 0o600 | 0o644;
}

/** Throws `ConflictError` when something has this name, also a link that leads nowhere. */
export function refuseExisting(file: string, help = 'use `--force` to write over it'): void {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  throw new ConflictError(`\`${file}\` exists: ${help}`);
}

/** The folder with this name, made when there is none. Throws `ConflictError` when the name is a link. */
export function outputFolder(name: string): string {
  // Without a trailing slash, which would lead through the link.
  const folder = resolve(name);
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new ConflictError(`\`${name}\` is a symbolic link: use the folder that it points to`);
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/**
 * Writes a file for its owner alone unless `mode` says otherwise. With `force`, what is there is replaced as a whole: a link itself, not
 * what it leads to, and the new file has no owner and mode of the old one. Throws `ConflictError` when it exists.
 */
export async function writeOutput(file: string, text: string, { force, mode = 0o600 }: OutputOptions): Promise<void> {
  if (!force) refuseExisting(file);
  try {
    await (force ? replaceFile : createFile)(file, text, { mode });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    // The error of a full disk names no file.
    throw new Error(`\`${file}\` cannot be written (${String(error.code)})`, { cause: error });
  }
}
