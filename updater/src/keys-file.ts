import type { JwkList } from '@signet/policy-engine/wire';
import { z } from 'zod';
import { fileNames, type PolicyDirectory } from './files/policy-directory.ts';

const text = z.string().min(1);
const member = text.exactOptional();
/** Content of `keys.json`. */
export const keysFileSchema = z.object({
  /** An Athenz server may not say it. */
  issuer: member,
  keys: z.array(
    z.object({
      kty: z.enum(['EC', 'RSA']),
      kid: text,
      alg: text,
      use: z.literal('sig'),
      crv: member,
      x: member,
      y: member,
      n: member,
      e: member,
      purpose: z.enum(['token', 'bundle']).exactOptional(),
    }),
  ),
});

/** Content of `keys.json`, from which the policy engine takes keys and issuer. */
export interface KeysFile extends JwkList {
  readonly issuer?: string;
}

const maxKeysBytes = 1 << 20;

/** The keys of the last good fetch; `undefined` when there is no such file or it cannot be read as one. */
export async function readKeysFile(directory: PolicyDirectory): Promise<KeysFile | undefined> {
  const text = await directory.readText(fileNames.keys, maxKeysBytes);
  if (text === undefined) return undefined;
  try {
    return keysFileSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Replaces `keys.json` in one step. Throws `UpdaterError`: `storage`, `unsafe-file`. */
export async function writeKeysFile(directory: PolicyDirectory, content: KeysFile): Promise<void> {
  await directory.write(fileNames.keys, Buffer.from(`${JSON.stringify(content, null, 2)}\n`));
}
