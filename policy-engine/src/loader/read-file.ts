import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Result of reading a path. `identity` changes whenever the content may have changed. */
type FileRead =
  | { kind: 'absent' }
  | { kind: 'unchanged' }
  | { kind: 'unreadable'; problem: string }
  | { kind: 'read'; identity: string; bytes: Uint8Array };

const [groupWrite, everyoneWrite] = [0o020, 0o002];

/** Users other than the owner that a mode lets write to a file or a folder; undefined for none, and where there are no modes. */
export function otherWriters(mode: number): string | undefined {
  if (process.platform === 'win32') return undefined;
  if ((mode & everyoneWrite) !== 0) return 'everyone';
  return (mode & groupWrite) !== 0 ? 'its group' : undefined;
}

/** Reads a file as `readRegularFile` does, unless others than its owner may write to it: what it holds is not signed. */
export async function readProtectedFile(path: string, maxBytes: number, known: string | undefined): Promise<FileRead> {
  return readFileThat(path, maxBytes, known, true);
}

/**
 * Reads a regular file of at most `maxBytes`, unless its identity is the known one. Never hangs: what is not a regular file
 * (a pipe, a device, a directory) is not read, and a file that grows while it is read is cut at the size it had.
 */
export async function readRegularFile(path: string, maxBytes: number, known: string | undefined): Promise<FileRead> {
  return readFileThat(path, maxBytes, known, false);
}

async function readFileThat(
  path: string,
  maxBytes: number,
  known: string | undefined,
  isProtected: boolean,
): Promise<FileRead> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return failure(error);
  }
  try {
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) return { kind: 'unreadable', problem: 'it is not a regular file' };
    const writers = isProtected ? otherWriters(Number(stats.mode)) : undefined;
    if (writers !== undefined) return { kind: 'unreadable', problem: `${writers} may write to it` };
    const identity = [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
    if (identity === known) return { kind: 'unchanged' };
    if (stats.size > BigInt(maxBytes)) return { kind: 'unreadable', problem: `it is larger than ${maxBytes} bytes` };
    // Uninitialised memory: only the bytes that were read are handed out.
    const bytes = Buffer.allocUnsafeSlow(Number(stats.size));
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return { kind: 'read', identity, bytes: bytes.subarray(0, length) };
  } catch (error) {
    return failure(error);
  } finally {
    await handle.close();
  }
}

function failure(error: unknown): FileRead {
  const code = systemCode(error);
  return code === 'ENOENT' ? { kind: 'absent' } : { kind: 'unreadable', problem: `it cannot be read (${code})` };
}

/** The name of a fault of the file system, e.g. `ENOSPC`. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'failed';
}
