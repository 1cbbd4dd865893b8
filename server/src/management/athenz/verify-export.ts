import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { JsonLimitError, JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';
import { z } from 'zod';
import { fromYBase64 } from '../../base/ybase64.ts';
import { InvalidRequestError } from '../../errors.ts';
import type { AthenzJws } from './export-shape.ts';

/** Public keys by their id. */
export type ZmsKeys = ReadonlyMap<string, KeyObject>;

const athenzConfShape = z.looseObject({ zmsPublicKeys: z.array(z.looseObject({ id: z.string(), key: z.string() })) });
const keySetShape = z.looseObject({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.string() })) });
const headerShape = z.looseObject({ alg: z.enum(['ES256', 'RS256']), kid: z.string(), crit: z.undefined().optional() });

const minRsaBits = 2048;

/** The keys of a JWK Set, or the ones of ZMS in an athenz.conf. Throws `InvalidRequestError`; keys that cannot be used here are left out. */
export function parseZmsKeys(text: string): ZmsKeys {
  const value = parseJson(text, 'the key file');
  const conf = athenzConfShape.safeParse(value);
  const set = keySetShape.safeParse(value);
  if (!conf.success && !set.success) {
    throw new InvalidRequestError('the key file must be a JWK Set, or an athenz.conf with `zmsPublicKeys`');
  }
  const listed = conf.success
    ? conf.data.zmsPublicKeys.map(({ id, key }) => [id, usable(() => fromPem(key))] as const)
    : (set.data?.keys ?? []).map(
        (jwk) => [jwk.kid, usable(() => createPublicKey({ key: jwk, format: 'jwk' }))] as const,
      );
  const keys = new Map(listed.flatMap(([id, key]) => (key === undefined ? [] : [[id, key] as const])));
  if (keys.size === 0)
    throw new InvalidRequestError('the key file has no P-256 key and no RSA key of 2048 bits or more');
  return keys;
}

function fromPem(key: string): KeyObject {
  const pem = fromYBase64(key)?.toString() ?? '';
  if (pem.includes('PRIVATE KEY'))
    throw new InvalidRequestError('a private key was given where a public one is needed');
  return createPublicKey(pem);
}

function usable(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return algorithmOf(key) === undefined ? undefined : key;
  } catch {
    return undefined;
  }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): 'ES256' | 'RS256' | undefined {
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  const isRsa = asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= minRsaBits;
  return isRsa ? 'RS256' : undefined;
}

/** Verifies that one of the keys signed it, and answers the id of the key. Throws `InvalidRequestError`. */
export function verifyExport(jws: AthenzJws, keys: ZmsKeys): string {
  const header = headerShape.safeParse(parseJson(decodeText(jws.protected, 'protected'), 'protected'));
  if (!header.success) throw new InvalidRequestError('protected: must name a key (`kid`) and ES256 or RS256 (`alg`)');
  const { alg, kid } = header.data;
  const key = keys.get(kid);
  if (key === undefined) throw new InvalidRequestError(`protected: the key file has no key \`${kid}\``);
  const signed = Buffer.from(`${jws.protected}.${jws.payload}`);
  const signature = decode(jws.signature, 'signature');
  const isValid = algorithmOf(key) === alg && isSignature(key, signed, signature);
  if (!isValid) throw new InvalidRequestError(`signature: is not one of key \`${kid}\` for this content`);
  return kid;
}

/** ZMS writes signatures with elliptic curves in DER unless it was asked for r and s. */
function isSignature(key: KeyObject, signed: Buffer, signature: Buffer): boolean {
  if (key.asymmetricKeyType === 'rsa') return verify('sha256', signed, key, signature);
  const encodings = ['ieee-p1363', 'der'] as const;
  return encodings.some((dsaEncoding) => verify('sha256', signed, { key, dsaEncoding }, signature));
}

/** The text of a base64url text. Throws `InvalidRequestError`, which names the field. */
export function decodeText(text: string, field: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(decode(text, field));
  } catch (error) {
    if (error instanceof TypeError) throw new InvalidRequestError(`${field}: must be base64url of UTF-8 text`);
    throw error;
  }
}

function decode(text: string, field: string): Buffer {
  const unpadded = text.replace(/={1,2}$/, '');
  const bytes = Buffer.from(unpadded, 'base64url');
  if (bytes.toString('base64url') !== unpadded) throw new InvalidRequestError(`${field}: must be base64url`);
  return bytes;
}

/** Parses JSON. Throws `InvalidRequestError`, which names what it is. */
export function parseJson(text: string, what: string): unknown {
  try {
    return parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof JsonLimitError) {
      throw new InvalidRequestError(`${what}: is not valid JSON: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
