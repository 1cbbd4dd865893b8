import { createPrivateKey, type KeyObject } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { publicJwkOf } from './new-signing-key.ts';

/** Folder of private signing keys: `<kid>.pem` (PKCS #8), readable by the owner only. */
interface KeyFiles {
  /** The private key, or undefined when there is no file for it here. Throws when the file holds another key. */
  read(kid: string): KeyObject | undefined;
  /** Writes and syncs the file (mode 0600) before it answers. */
  write(kid: string, privateKey: KeyObject): Promise<void>;
  /** Removes the file, if there is one. */
  remove(kid: string): Promise<void>;
}

export function keyFilesIn(folder: string): KeyFiles {
  const pathOf = (kid: string) => join(folder, `${kid}.pem`);
  return {
    read(kid) {
      const pem = readIfPresent(pathOf(kid));
      if (pem === undefined) return undefined;
      const key = createPrivateKey(pem);
      if (publicJwkOf(key).kid !== kid) throw new Error(`key file of \`${kid}\` holds another key`);
      return key;
    },
    async write(kid, privateKey) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
      const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
      await replaceFile(pathOf(kid), pem.toString(), { mode: 0o600 });
    },
    remove: (kid) => rm(pathOf(kid), { force: true }),
  };
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
