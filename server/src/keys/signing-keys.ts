import type { KeyObject } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import type { Jwk, KeyPurpose } from '@signet/policy-engine/wire';
import { DomainError } from '../errors.ts';
import type { SigningKeyRecord } from '../model/records.ts';
import { nextKeyChange, publishedKeys, type SignatureLife, signingOrder } from './key-life.ts';
import type { PrivateKeys } from './private-keys.ts';
import { type SigningKey, type TokenSigner, tokenSigner } from './sign-token.ts';

/** Error: no private key here may sign now, so that the server cannot issue. */
export class NoSigningKeyError extends DomainError {
  override readonly name = 'NoSigningKeyError';
  readonly code = 'store-unavailable';

  constructor(purpose: KeyPurpose) {
    super(`there is no ${purpose} key to sign with`);
  }
}

/** Keys in use: one for each purpose and the signers made of the token key. */
interface ActiveKeys {
  readonly token: SigningKey | undefined;
  readonly bundle: SigningKey | undefined;
  readonly accessToken: TokenSigner | undefined;
  readonly idToken: TokenSigner | undefined;
  readonly published: readonly Jwk[];
  /** The ids of active keys whose private half is not here: nothing is signed for their purpose. */
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
  readonly privateKeys: Pick<PrivateKeys, 'read' | 'load'>;
  readonly clock: Clock;
  readonly life: SignatureLife;
  /** Called when a private half that is needed cannot be read. */
  readonly onError?: (error: unknown, kid: string) => void;
  /** Runs around each signature of a token. */
  readonly around?: ((sign: () => string) => string) | undefined;
  /** Called for each token that is signed. */
  readonly onSigned?: ((kind: 'access' | 'id') => void) | undefined;
  /** Called when the set of missing keys changes, at last to none. */
  readonly onMissing?: (kids: readonly string[]) => void;
}

/** A private half that is missing or bad is looked for again after this time, in milliseconds. */
const retryMs = 5000;

/**
 * Keeps what `key-life.ts` says in step with the snapshot, the clock and the private halves. INVARIANT: the active key signs or none does. All
 * servers of a store agree which one that is; verifiers may have forgotten any other.
 */
export function createSigningKeys(deps: SigningKeysDeps): SigningKeys {
  const privateKeys = new Map<string, KeyObject>();
  let records: readonly SigningKeyRecord[] | undefined;
  let validUntil = 0;
  let told = '';
  let active: ActiveKeys | undefined;

  function privateKey(record: SigningKeyRecord): KeyObject | undefined {
    const { kid } = record;
    const known = privateKeys.get(kid);
    if (known !== undefined) return known;
    try {
      const key = deps.privateKeys.read(record);
      if (key !== undefined) privateKeys.set(kid, key);
      return key;
    } catch (error) {
      deps.onError?.(error, kid);
      return undefined;
    }
  }

  function choose(purpose: KeyPurpose, now: number, missing: string[]): SigningKey | undefined {
    const [record] = signingOrder(records ?? [], purpose, now);
    if (record === undefined) return undefined;
    const key = privateKey(record);
    if (key !== undefined) return { kid: record.kid, privateKey: key };
    missing.push(record.kid);
    return undefined;
  }

  function rebuild(now: number): ActiveKeys {
    records = deps.records();
    const usable = new Set(records.filter((each) => each.compromisedAt === undefined).map(({ kid }) => kid));
    for (const kid of privateKeys.keys()) if (!usable.has(kid)) privateKeys.delete(kid);
    const missing: string[] = [];
    const token = choose('token', now, missing);
    const bundle = choose('bundle', now, missing);
    validUntil = nextKeyChange(records, now, deps.life);
    if (missing.length > 0) lookAgain(now, missing);
    tell(missing);
    return {
      token,
      bundle,
      accessToken: token && observed(tokenSigner(token, 'at+jwt'), 'access', deps),
      idToken: token && observed(tokenSigner(token, 'JWT'), 'id', deps),
      published: publishedKeys(records, now, deps.life),
      missing,
    };
  }

  /** Schedules another load; its result is used at the next check. */
  function lookAgain(now: number, missing: readonly string[]): void {
    validUntil = Math.min(validUntil, now + retryMs);
    deps.privateKeys.load().catch((error: unknown) => deps.onError?.(error, missing.join(', ')));
  }

  function tell(missing: readonly string[]): void {
    const news = missing.join(' ');
    if (news === told) return;
    told = news;
    deps.onMissing?.(missing);
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

function observed(
  signer: TokenSigner,
  kind: 'access' | 'id',
  { onSigned, around }: Pick<SigningKeysDeps, 'onSigned' | 'around'>,
): TokenSigner {
  if (onSigned === undefined && around === undefined) return signer;
  return {
    sign(claims) {
      const text = around === undefined ? signer.sign(claims) : around(() => signer.sign(claims));
      onSigned?.(kind);
      return text;
    },
  };
}
