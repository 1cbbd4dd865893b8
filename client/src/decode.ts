import type { Jwk } from '@signet/policy-engine/wire';
import { SignetClientError } from './client-errors.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The error for an answer whose `what` is not as announced. */
export function malformed(what: string): SignetClientError {
  return new SignetClientError('response-malformed', `the answer is malformed: ${what}`);
}

/** The JSON object in an answer's body. Throws `response-malformed`. */
export function decodeObject(body: Uint8Array): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // no cause: the parser quotes the text, which may hold a token
    throw malformed('it is not JSON');
  }
  if (!isObject(json)) throw malformed('it is not an object');
  return json;
}

export function stringMember(object: JsonObject, name: string): string {
  const value = object[name];
  if (typeof value !== 'string' || value === '') throw malformed(`\`${name}\` must be a string`);
  return value;
}

export function booleanMember(object: JsonObject, name: string): boolean {
  const value = object[name];
  if (typeof value !== 'boolean') throw malformed(`\`${name}\` is not true or false`);
  return value;
}

export function stringsMember(object: JsonObject, name: string): readonly string[] {
  const value = object[name];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw malformed(`\`${name}\` must be an array of strings`);
  }
  return value;
}

const optionalMembers = ['crv', 'x', 'y', 'n', 'e'] as const;

/** A public key of the keys endpoint, or `undefined` for one of a kind that we do not know, which is passed over. */
export function decodeJwk(value: unknown): Jwk | undefined {
  if (!isObject(value)) return undefined;
  if (!isToVerify(value)) return undefined;
  const { kty, kid, alg, purpose } = value;
  if ((kty !== 'EC' && kty !== 'RSA') || typeof kid !== 'string' || kid === '') return undefined;
  // a purpose that we do not know must not turn into "any purpose"
  if (purpose !== undefined && purpose !== 'token' && purpose !== 'bundle') return undefined;
  const jwk: Jwk = { kty, kid, alg: typeof alg === 'string' ? alg : kty === 'EC' ? 'ES256' : 'RS256', use: 'sig' };
  for (const name of optionalMembers) {
    const member = value[name];
    if (typeof member === 'string') jwk[name] = member;
  }
  if (purpose !== undefined) jwk.purpose = purpose;
  return jwk;
}

/** True if the publisher of a key meant it for verification (RFC 7517 §4.2, §4.3). */
function isToVerify({ use, key_ops: operations }: JsonObject): boolean {
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}
