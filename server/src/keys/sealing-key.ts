import { readOwnFile } from './own-file.ts';

const keyBytes = 32;
/** 32 bytes in base64, as `openssl rand -base64 32` writes them. */
const keyText = /^[A-Za-z0-9+/]{43}=\r?\n?$/;
const maxFileBytes = 46;

/**
 * Reads 32 random bytes from a file, raw or in base64. Throws for a file that is missing, that another user may read or owns, and for any other
 * content; the message never holds any of it.
 */
export function readSealingKey(file: string): Buffer {
  const bytes = readOwnFile(file, maxFileBytes + 1);
  if (bytes.length === keyBytes) return bytes;
  const text = bytes.toString('latin1');
  bytes.fill(0);
  const key = keyText.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  // Only four bits of the last character are used: another one for the same bytes indicates a damaged file.
  if (key.length === keyBytes && key.toString('base64') === text.trimEnd()) return key;
  throw new Error(`\`${file}\` must contain ${keyBytes} random bytes, raw or in base64`);
}
