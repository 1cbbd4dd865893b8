import { readFile } from 'node:fs/promises';
import type { Clock } from '@signet/policy-engine/clock';
import { type CompactVerifyGetKey, createLocalJWKSet, createRemoteJWKSet } from 'jose';
import { z } from 'zod';
import type { AttestationProvider } from './attestation.ts';
import { type JwtIssuer, signedJwtProvider } from './signed-jwt.ts';

/** Where the keys of a token issuer come from: exactly one of the two. */
export interface JwtIssuerOptions extends JwtIssuer {
  /** A file with a JWK set. */
  readonly keysFile?: string | undefined;
  /** An https address of a JWK set. */
  readonly keysUrl?: string | undefined;
}

const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/** Asked again for an unknown key, but not more often than this. */
const cooldownMs = 30_000;
const timeoutMs = 5000;

async function keysOf(options: JwtIssuerOptions): Promise<CompactVerifyGetKey> {
  if (options.keysUrl !== undefined) {
    return createRemoteJWKSet(new URL(options.keysUrl), { cooldownDuration: cooldownMs, timeoutDuration: timeoutMs });
  }
  const text = await readFile(options.keysFile ?? '', 'utf8');
  return createLocalJWKSet(keySetSchema.parse(JSON.parse(text)));
}

/** The provider for the signed tokens of one issuer. Throws when its key file cannot be read. */
export async function openJwtProvider(options: JwtIssuerOptions, clock: Clock): Promise<AttestationProvider> {
  return signedJwtProvider({ issuer: options, keys: await keysOf(options), clock });
}
