import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { FileSystem } from './file-system.ts';

/** Names that `writeAtomically` gives to files that are not yet complete. */
export const temporaryName = /^\..+\.[0-9a-f]{16}\.tmp$/;

/** Everyone on the host may read policy, unless the directory says otherwise. */
const publicMode = 0o644;

/**
 * Replaces `path` so that at every instant, also when the machine loses its power, it holds the old bytes or the new.
 * A failure leaves the old file and, at worst, a temporary file beside it. Throws the error of the file system.
 */
export async function writeAtomically(
  files: FileSystem,
  path: string,
  bytes: Uint8Array,
  mode: number = publicMode,
): Promise<void> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    await writeWhole(files, temporary, bytes, mode);
    await files.rename(temporary, path);
  } catch (error) {
    // the first error is the one to tell
    await files.remove(temporary).catch(() => undefined);
    throw error;
  }
  await syncDirectory(files, directory);
}

async function writeWhole(files: FileSystem, path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const file = await files.create(path, mode);
  try {
    await file.write(bytes);
    // again, because the umask took part at creation
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the new name last (the data alone was synced before the rename). */
async function syncDirectory(files: FileSystem, path: string): Promise<void> {
  const directory = await files.openDirectory(path);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
