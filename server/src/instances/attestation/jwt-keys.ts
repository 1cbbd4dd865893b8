import { readFile } from 'node:fs/promises';
import type { Clock } from '@signet/policy-engine/clock';
import { parseStrictJson } from '@signet/policy-engine/json';
import { type CompactVerifyGetKey, createLocalJWKSet, errors } from 'jose';
import { z } from 'zod';
import { type BoundedFetch, fetchJson } from '../../base/bounded-fetch.ts';
import { type AttestationProvider, ProviderFailedError } from './attestation.ts';
import { fetchedKeys } from './fetched-keys.ts';
import { type JwtIssuer, type SignedJwtDeps, signedJwtProvider } from './signed-jwt.ts';

/** Sources of a token issuer's keys: exactly one of the two. */
interface JwtIssuerOptions extends JwtIssuer {
  /** A file with a JWK set. */
  readonly keysFile?: string | undefined;
  /** An https address of a JWK set. */
  readonly keysUrl?: string | undefined;
}

export const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/** Maximum age of a loaded key file; one without the requested key is read again at once. */
const fileAgeMs = 30_000;

interface KeySet {
  readonly text: string;
  readonly find: CompactVerifyGetKey;
}

/** Finds keys in the text of a JWK set. Throws when it is not one, or holds no key. */
export function parseKeySet(text: string): CompactVerifyGetKey {
  return createLocalJWKSet(keySetSchema.parse(parseStrictJson(text)));
}

async function readKeySet(file: string): Promise<KeySet> {
  const text = await readFile(file, 'utf8');
  return { text, find: parseKeySet(text) };
}

/** The keys of a file that issuers rotate; while it cannot be read those known stay. Throws when it cannot be read at first. */
export async function keysOfFile(file: string, clock: Clock): Promise<CompactVerifyGetKey> {
  let current = await readKeySet(file);
  let readAt = clock.now();
  let [begun, taken] = [0, 0];
  const readAgain = async (): Promise<void> => {
    begun += 1;
    const order = begun;
    const next = await readKeySet(file).catch(() => current);
    readAt = clock.now();
    // A later read has seen newer content.
    if (order < taken) return;
    taken = order;
    if (next.text !== current.text) current = next;
  };
  return async (header, token) => {
    if (Math.abs(clock.now() - readAt) >= fileAgeMs) await readAgain();
    const known = current;
    try {
      return await known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await readAgain();
      // Keys other than those that were searched are used, whichever call read them.
      if (current === known) throw error;
      return current.find(header, token);
    }
  };
}

/** Keys at an https address. Throws `ProviderFailedError` when they cannot be fetched. */
function keysAt(address: string, { clock, fetch }: Pick<JwtProviderDeps, 'clock' | 'fetch'>): CompactVerifyGetKey {
  return fetchedKeys({
    load: async () => createLocalJWKSet(keySetSchema.parse(await fetchJson(fetch, address))),
    clock,
    unavailable: (cause) =>
      new ProviderFailedError('the keys of the token issuer are not available', {
        cause,
        detail: { keysUrl: address, reason: String(cause) },
      }),
  });
}

interface JwtProviderDeps extends Pick<SignedJwtDeps, 'clock' | 'instances'> {
  /** Fetches keys from an address. */
  readonly fetch: BoundedFetch;
}

/** The provider for the signed tokens of one issuer. Throws when its key file cannot be read. */
export async function openJwtProvider(options: JwtIssuerOptions, deps: JwtProviderDeps): Promise<AttestationProvider> {
  const { keysUrl, keysFile = '' } = options;
  const keys = keysUrl === undefined ? await keysOfFile(keysFile, deps.clock) : keysAt(keysUrl, deps);
  return signedJwtProvider({ ...deps, issuer: options, keys });
}
