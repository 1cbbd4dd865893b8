import { closeSync, fchmodSync, fsyncSync, linkSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises';

/** The calls to the file system that make one file. `Done` is what each answers: nothing, or a promise of it. */
export interface FileCalls<Done> {
  /** A new file (O_EXCL: never through a link); the four after it are about this one. */
  create(path: string, mode: number): Done;
  write(content: string | Uint8Array): Done;
  chmod(mode: number): Done;
  sync(): Done;
  close(): Done;
  rename(from: string, to: string): Done;
  /** Throws `EEXIST` when something has the name. */
  link(from: string, to: string): Done;
  remove(path: string): Done;
  /** Makes the names in a directory survive a crash, where the platform can. */
  syncDirectory(path: string): Done;
}

/** The calls of `node:fs/promises`. */
export function promisedCalls(): FileCalls<Promise<void>> {
  let file: FileHandle;
  return {
    create: async (path, mode) => {
      file = await open(path, 'wx', mode);
    },
    write: (content) => file.writeFile(content),
    chmod: (mode) => file.chmod(mode),
    sync: () => file.sync(),
    close: () => file.close(),
    rename,
    link,
    remove: unlink,
    syncDirectory,
  };
}

/** The calls of `node:fs` that wait. */
export function syncCalls(): FileCalls<void> {
  let file: number;
  return {
    create: (path, mode) => {
      file = openSync(path, 'wx', mode);
    },
    write: (content) => writeFileSync(file, content),
    chmod: (mode) => fchmodSync(file, mode),
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
    rename: renameSync,
    link: linkSync,
    remove: unlinkSync,
    syncDirectory: syncDirectorySync,
  };
}

/** Makes the names in a directory survive a crash. Does nothing where directories cannot be synced: on Windows, and on some network file systems. */
export async function syncDirectory(path: string): Promise<void> {
  if (!hasDirectories) return;
  const directory = await open(path, 'r');
  try {
    await directory.sync().catch(ignoreUnsupported);
  } finally {
    await directory.close();
  }
}

/** `syncDirectory` for those that cannot wait for a promise. */
export function syncDirectorySync(path: string): void {
  if (!hasDirectories) return;
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } catch (error) {
    ignoreUnsupported(error);
  } finally {
    closeSync(directory);
  }
}

/** Makes the content of a file survive a crash, whichever program wrote it. */
export function syncFileSync(path: string): void {
  // Windows syncs no file that is open for reading alone.
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Windows opens no directories. */
const hasDirectories = process.platform !== 'win32';

function ignoreUnsupported(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
}
