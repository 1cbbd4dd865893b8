import { createPrivateKey, KeyObject, randomBytes, sign } from 'node:crypto';
import { type Clock, epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { type KeyId, parseDomainName, parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import { parseArguments, wholeNumber } from '../arguments.ts';
import { SignetClientError } from '../client-errors.ts';
import { isReusable } from './is-reusable.ts';

/** Signing key. */
export interface PrincipalTokenKey {
  /** EC or RSA private key, as PEM text or key object; its public half is registered for the service under `keyId`. */
  readonly privateKey: string | KeyObject;
  /** Name of the key version. */
  readonly keyId: string;
}

/** Principal and key of principal tokens. */
export interface PrincipalTokenOptions extends PrincipalTokenKey {
  readonly domain: string;
  /** Short name of the service. */
  readonly service: string;
  /** Host that the token is made on; carried for information. */
  readonly host?: string;
  /** Life in seconds; 3600 by default, at most 30 days (docs/reference/authentication.md#principal-tokens). */
  readonly lifetimeSeconds?: number;
  readonly clock?: Clock;
}

/** A principal token and when it ends. */
export interface PrincipalToken {
  /** Value of the header `Svc-Principal-Auth`. */
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Makes principal tokens of one service, and keeps the last one. */
export interface PrincipalTokenSource {
  /** The kept token while at least a quarter of its life remains, else a new one. */
  get(): PrincipalToken;
  /**
   * Signs with another key version from now on. Register the new public key first and remove the old one when the last token that it signed has
   * expired. Throws `invalid-argument`, and then keeps the old key.
   */
  rotate(key: PrincipalTokenKey): void;
}

const maxLifetimeSeconds = 30 * 86_400;

/** Base64 in the alphabet of principal tokens: `.`, `_` and `-` for `+`, `/` and `=`. */
function ybase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-');
}

function readKey(key: string | KeyObject): KeyObject {
  let read: KeyObject;
  try {
    read = key instanceof KeyObject ? key : createPrivateKey(key);
  } catch {
    // no cause: the parser's error could quote the key
    throw new SignetClientError('invalid-argument', 'privateKey is not a PEM private key');
  }
  if (read.type === 'private' && (read.asymmetricKeyType === 'ec' || read.asymmetricKeyType === 'rsa')) return read;
  throw new SignetClientError('invalid-argument', 'privateKey must be an EC or RSA private key');
}

function parseKey({ privateKey, keyId }: PrincipalTokenKey): { privateKey: KeyObject; keyId: KeyId } {
  return { privateKey: readKey(privateKey), keyId: parseArguments(() => parseKeyId(keyId, 'keyId')) };
}

/**
 * A source of principal tokens `v=S1;d=…;n=…;[h=…;]a=…;t=…;e=…;k=…;s=…`: issue and expiry in epoch seconds, `a` a random
 * salt, `s` the SHA-256 signature (ECDSA in DER form, or RSA PKCS#1 v1.5) over the text before `;s=`.
 * Throws `invalid-argument`.
 */
export function createPrincipalTokenSource(options: PrincipalTokenOptions): PrincipalTokenSource {
  const { clock = systemClock, host } = options;
  let key = parseKey(options);
  const lifetime = wholeNumber(options.lifetimeSeconds ?? 3600, 'lifetimeSeconds', 1, maxLifetimeSeconds);
  const [domain, service] = parseArguments(() => [
    parseDomainName(options.domain, 'domain'),
    parseServiceName(options.service, 'service'),
  ]);
  if (host !== undefined && !/^[a-zA-Z0-9._-]{1,253}$/.test(host)) {
    throw new SignetClientError('invalid-argument', 'host is not a host name');
  }
  let kept: PrincipalToken | undefined;

  function mint(): PrincipalToken {
    const issued = epochSeconds(clock);
    const expires = issued + lifetime;
    const items = [
      'v=S1',
      `d=${domain}`,
      `n=${service}`,
      ...(host === undefined ? [] : [`h=${host}`]),
      `a=${randomBytes(8).toString('hex')}`,
      `t=${issued}`,
      `e=${expires}`,
      `k=${key.keyId}`,
    ];
    const text = items.join(';');
    return {
      token: `${text};s=${ybase64(sign('sha256', Buffer.from(text), key.privateKey))}`,
      expiresAt: expires * 1000,
    };
  }

  return {
    get() {
      if (kept === undefined || !isReusable(clock.now(), kept.expiresAt, lifetime * 1000)) kept = mint();
      return kept;
    },
    rotate(next) {
      key = parseKey(next);
      kept = undefined;
    },
  };
}
