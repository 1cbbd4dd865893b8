import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/**
 * Reads at most the given number of bytes of a file that holds a secret: of this user or of root, and readable by no other. Throws otherwise;
 * the message holds nothing of its content. The checked file is the one that is read, whatever is put under that name meanwhile. Links are
 * followed: secrets are often mounted as such.
 */
export function readOwnFile(file: string, bytes: number): Buffer {
  const descriptor = open(file);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new Error(`\`${file}\` is not a regular file`);
    // Windows knows neither owners nor modes of this kind.
    if (process.getuid !== undefined) {
      if (stats.uid !== process.getuid() && stats.uid !== 0) throw new Error(`\`${file}\` belongs to another user`);
      if (isOpenToOthers(stats, process.getuid()))
        throw new Error(`\`${file}\` can be read by others: its mode must be 0600`);
    }
    const content = Buffer.alloc(bytes);
    return content.subarray(0, readSync(descriptor, content, 0, bytes, 0));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * True if users other than root and `self` may read or change a file. systemd (`LoadCredential=`) and Kubernetes (`fsGroup`) pass a secret to a
 * user other than root as a file of root, mode 0440: root has chosen who is in its group, or on its list.
 */
export function isOpenToOthers({ uid, mode }: { readonly uid: number; readonly mode: number }, self: number): boolean {
  return (mode & (uid === 0 && self !== 0 ? 0o037 : 0o077)) !== 0;
}

function open(file: string): number {
  try {
    // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
    return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new Error(`\`${file}\` cannot be read (${code})`);
  }
}
