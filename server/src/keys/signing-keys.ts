import type { KeyObject } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import type { Jwk, KeyPurpose } from '@signet/policy-engine/wire';
import { DomainError } from '../errors.ts';
import type { SigningKeyRecord } from '../model/records.ts';
import type { KeyFiles } from './key-files.ts';
import { keyStates, nextKeyChange, publishedKeys, type SignatureLife, signingOrder } from './key-life.ts';
import { type SigningKey, type TokenSigner, tokenSigner } from './sign-token.ts';

/** No private key here may sign now: the server cannot issue. */
export class NoSigningKeyError extends DomainError {
  override readonly name = 'NoSigningKeyError';
  readonly code = 'store-unavailable';

  constructor(purpose: KeyPurpose) {
    super(`there is no ${purpose} key to sign with`);
  }
}

/** What signs now: one key for each purpose and the signers made of the token key. */
interface ActiveKeys {
  readonly token: SigningKey | undefined;
  readonly bundle: SigningKey | undefined;
  readonly accessToken: TokenSigner | undefined;
  readonly idToken: TokenSigner | undefined;
  /** The public keys to publish. */
  readonly published: readonly Jwk[];
  /** Key ids that should sign now and whose private key is not here. */
  readonly missing: readonly string[];
}

export interface SigningKeys {
  /** The keys in force at this moment; the same object until something changes. */
  current(): ActiveKeys;
  /** The key for a purpose. Throws `NoSigningKeyError`. */
  key(purpose: KeyPurpose): SigningKey;
}

interface SigningKeysDeps {
  /** The records of the snapshot in force. */
  readonly records: () => readonly SigningKeyRecord[];
  readonly files: KeyFiles;
  readonly clock: Clock;
  readonly life: SignatureLife;
  /** Told when a key file that is needed cannot be read. */
  readonly onError?: (error: unknown, kid: string) => void;
}

/** A key file that is missing or bad is looked for again after this time, in milliseconds. */
const retryMs = 5000;

/** Keeps what `key-life.ts` says in step with the snapshot, the clock and the key files. */
export function createSigningKeys(deps: SigningKeysDeps): SigningKeys {
  const privateKeys = new Map<string, KeyObject>();
  let records: readonly SigningKeyRecord[] | undefined;
  let validUntil = 0;
  let active: ActiveKeys | undefined;

  function privateKey(kid: string): KeyObject | undefined {
    const known = privateKeys.get(kid);
    if (known !== undefined) return known;
    try {
      const key = deps.files.read(kid);
      if (key !== undefined) privateKeys.set(kid, key);
      return key;
    } catch (error) {
      deps.onError?.(error, kid);
      return undefined;
    }
  }

  function choose(purpose: KeyPurpose, now: number, missing: string[]): SigningKey | undefined {
    const states = keyStates(records ?? [], now, deps.life);
    for (const record of signingOrder(records ?? [], purpose, now)) {
      // Nobody could verify what a key signs that is not published any more.
      if (states.get(record.kid) === 'withdrawn') break;
      const key = privateKey(record.kid);
      if (key !== undefined) return { kid: record.kid, privateKey: key };
      missing.push(record.kid);
    }
    return undefined;
  }

  function rebuild(now: number): ActiveKeys {
    records = deps.records();
    for (const kid of privateKeys.keys()) if (!records.some((record) => record.kid === kid)) privateKeys.delete(kid);
    const missing: string[] = [];
    const token = choose('token', now, missing);
    const bundle = choose('bundle', now, missing);
    validUntil = nextKeyChange(records, now, deps.life);
    if (missing.length > 0) validUntil = Math.min(validUntil, now + retryMs);
    return {
      token,
      bundle,
      accessToken: token && tokenSigner(token, 'at+jwt'),
      idToken: token && tokenSigner(token, 'JWT'),
      published: publishedKeys(records, now, deps.life),
      missing,
    };
  }

  function current(): ActiveKeys {
    const now = deps.clock.now();
    if (active === undefined || now >= validUntil || records !== deps.records()) active = rebuild(now);
    return active;
  }

  return {
    current,
    key(purpose) {
      const key = current()[purpose];
      if (key === undefined) throw new NoSigningKeyError(purpose);
      return key;
    },
  };
}
