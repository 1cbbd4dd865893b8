import { readFile } from 'node:fs/promises';
import type { Clock } from '@signet/policy-engine/clock';
import { type CompactVerifyGetKey, createLocalJWKSet, createRemoteJWKSet, errors } from 'jose';
import { z } from 'zod';
import type { AttestationProvider } from './attestation.ts';
import { type JwtIssuer, type SignedJwtDeps, signedJwtProvider } from './signed-jwt.ts';

/** Where the keys of a token issuer come from: exactly one of the two. */
interface JwtIssuerOptions extends JwtIssuer {
  /** A file with a JWK set. */
  readonly keysFile?: string | undefined;
  /** An https address of a JWK set. */
  readonly keysUrl?: string | undefined;
}

export const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/** Asked again for an unknown key, but not more often than this. */
const cooldownMs = 30_000;
const timeoutMs = 5000;

/** How old a key file may be that is in use; one without the key that is looked for is read again at once. */
const fileAgeMs = 30_000;

interface KeySet {
  readonly text: string;
  readonly find: CompactVerifyGetKey;
}

/** Finds keys in the text of a JWK set. Throws when it is not one, or holds no key. */
export function parseKeySet(text: string): CompactVerifyGetKey {
  return createLocalJWKSet(keySetSchema.parse(JSON.parse(text)));
}

async function readKeySet(file: string): Promise<KeySet> {
  const text = await readFile(file, 'utf8');
  return { text, find: parseKeySet(text) };
}

/** The keys of a file that issuers rotate; while it cannot be read those known stay. Throws when it cannot be read at first. */
export async function keysOfFile(file: string, clock: Clock): Promise<CompactVerifyGetKey> {
  let current = await readKeySet(file);
  let readAt = clock.now();
  const readAgain = async (): Promise<boolean> => {
    const next = await readKeySet(file).catch(() => current);
    readAt = clock.now();
    const isNew = next.text !== current.text;
    if (isNew) current = next;
    return isNew;
  };
  return async (header, token) => {
    if (Math.abs(clock.now() - readAt) >= fileAgeMs) await readAgain();
    try {
      return await current.find(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey && (await readAgain())) return current.find(header, token);
      throw error;
    }
  };
}

async function keysOf(options: JwtIssuerOptions, clock: Clock): Promise<CompactVerifyGetKey> {
  if (options.keysUrl === undefined) return keysOfFile(options.keysFile ?? '', clock);
  return createRemoteJWKSet(new URL(options.keysUrl), { cooldownDuration: cooldownMs, timeoutDuration: timeoutMs });
}

/** The provider for the signed tokens of one issuer. Throws when its key file cannot be read. */
export async function openJwtProvider(
  options: JwtIssuerOptions,
  deps: Pick<SignedJwtDeps, 'clock' | 'instances'>,
): Promise<AttestationProvider> {
  return signedJwtProvider({ ...deps, issuer: options, keys: await keysOf(options, deps.clock) });
}
