import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const keyBytes = 32;
/** 32 bytes in base64, as `openssl rand -base64 32` writes them. */
const keyText = /^[A-Za-z0-9+/]{43}=\r?\n?$/;
const maxFileBytes = 46;

/**
 * The 32 random bytes in a file, as they are or in base64. Throws for a file that is missing, that somebody else may read or owns, and for
 * any other content; the message never holds any of it.
 */
export function readSealingKey(file: string): Buffer {
  const bytes = readOwn(file);
  if (bytes.length === keyBytes) return bytes;
  const text = bytes.toString('latin1');
  bytes.fill(0);
  const key = keyText.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  // Of the last character only four bits count: another one for the same bytes is a file that was damaged.
  if (key.length === keyBytes && key.toString('base64') === text.trimEnd()) return key;
  throw new Error(`\`${file}\` must hold ${keyBytes} random bytes, as they are or in base64`);
}

/** What is looked at is what is read, whatever is put under that name meanwhile. Links are followed: secrets are often mounted as such. */
function readOwn(file: string): Buffer {
  const descriptor = open(file);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new Error(`\`${file}\` is not a regular file`);
    // Windows knows neither owners nor modes of this kind.
    if (process.getuid !== undefined) {
      if (stats.uid !== process.getuid() && stats.uid !== 0) throw new Error(`\`${file}\` belongs to another user`);
      if ((stats.mode & 0o077) !== 0) throw new Error(`\`${file}\` can be read by others: its mode must be 0600`);
    }
    const bytes = Buffer.alloc(maxFileBytes + 1);
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    return bytes.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

function open(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new Error(`\`${file}\` cannot be read (${code})`);
  }
}
