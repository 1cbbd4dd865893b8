import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFileSync } from '@signet/policy-engine/internal/files';
import { StoreRefusedError } from '../../errors.ts';
import { checkOwnFile } from './file-checks.ts';

/** The name of the file in the folder of keys. */
export const sealKeyName = 'backup-seal.key';

const keyBytes = 32;
const keyText = /^[0-9a-f]{64}\n?$/;

/** The key that seals backups; undefined where none was made. Throws `StoreRefusedError` for one that others may read, or that is not a key. */
export function readSealKey(file: string): Buffer | undefined {
  if (checkOwnFile(file, 'key') === undefined) return undefined;
  const text = readFileSync(file, 'latin1');
  if (!keyText.test(text)) throw new StoreRefusedError('seal', `key \`${file}\` is not ${keyBytes} bytes in hex`);
  return Buffer.from(text.trim(), 'hex');
}

/** Key that seals backups, created (mode 0600) if absent. Several processes that create it at once all get the same. */
export function ensureSealKey(file: string): Buffer {
  const present = readSealKey(file);
  if (present !== undefined) return present;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    createFileSync(file, `${randomBytes(keyBytes).toString('hex')}\n`, { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const made = readSealKey(file);
  if (made === undefined) throw new StoreRefusedError('missing', `key \`${file}\` does not exist`);
  return made;
}
