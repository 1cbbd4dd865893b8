import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/* Output of an Athenz server, text for text: member orders, header and encodings are those of its captured answers. */

/** A key of an Athenz server. */
export interface AthenzKey {
  readonly kid: string;
  readonly alg: 'ES256' | 'RS256';
  readonly privateKey: KeyObject;
  /** Form of `GET /oauth2/keys?rfc=true`. */
  readonly jwk: Readonly<Record<string, string>>;
}

export function athenzKey(alg: AthenzKey['alg'], kid = `zts.${alg}`, modulusLength = 2048): AthenzKey {
  const { privateKey, publicKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength });
  const { x, y, n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const head = { kty: alg === 'ES256' ? 'EC' : 'RSA', kid, alg, use: 'sig' };
  const jwk = alg === 'ES256' ? { ...head, crv: 'P-256', x: withoutZeros(x), y: withoutZeros(y) } : { ...head, n, e };
  return { kid, alg, privateKey, jwk };
}

/** Athenz writes the numbers of a point without leading zeros. */
function withoutZeros(coordinate = ''): string {
  const octets = Buffer.from(coordinate, 'base64url');
  return octets.subarray(octets.findIndex((octet) => octet !== 0)).toString('base64url');
}

/** An assertion as Athenz writes it; `effect` may be missing. */
export interface AthenzAssertion {
  readonly role: string;
  readonly resource: string;
  readonly action: string;
  readonly effect?: unknown;
  readonly id?: number;
  readonly caseSensitive?: boolean;
}

/** Test-specific members of a bundle. */
export interface AthenzBundle {
  readonly domain?: string;
  readonly assertions?: readonly AthenzAssertion[];
  /** RFC 3339 times. */
  readonly modified?: string;
  readonly expires?: string;
  /** Members beside those of Athenz. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export const readerMayRead: AthenzAssertion = {
  role: 'catalog:role.reader',
  resource: 'catalog:movie',
  action: 'read',
  effect: 'ALLOW',
  id: 17,
};

/** The payload of `POST /domain/{domain}/policy/signed`. */
export function athenzPayload(spec: AthenzBundle = {}): string {
  const { domain = 'catalog', assertions = [readerMayRead], more = {} } = spec;
  const { modified = '2025-12-31T23:00:00.123Z', expires = '2026-01-08T00:00:00.000Z' } = spec;
  const policy = { name: `${domain}:policy.base`, modified, assertions, version: '0', active: true };
  return JSON.stringify({ policyData: { domain, policies: [policy] }, modified, expires, ...more });
}

/** Answer to the request `{"policyVersions":null,"signatureP1363Format":…}`. */
export function athenzBundle(key: AthenzKey, spec: AthenzBundle | string = {}, p1363 = true): string {
  const payload = Buffer.from(typeof spec === 'string' ? spec : athenzPayload(spec)).toString('base64url');
  const head = Buffer.from(`{"kid":"${key.kid}","alg":"${key.alg}"}`).toString('base64url');
  const signature = athenzSignature(key, `${head}.${payload}`, p1363).toString('base64url');
  return JSON.stringify({ payload, protected: head, header: { kid: key.kid }, signature });
}

/** The option for r and s has no effect with RSA. */
export function athenzSignature(key: AthenzKey, text: string, p1363: boolean): Buffer {
  const dsaEncoding = p1363 ? 'ieee-p1363' : 'der';
  const how = key.alg === 'ES256' ? ({ dsaEncoding } as const) : { padding: constants.RSA_PKCS1_PADDING };
  return sign('sha256', Buffer.from(text), { key: key.privateKey, ...how });
}

/** An access token as Athenz writes it; without `jti` and `client_id` where a test says so. */
export function athenzToken(
  key: AthenzKey,
  claims: Readonly<Record<string, unknown>>,
  typ: string | null = 'at+jwt',
): string {
  const header = { kid: key.kid, ...(typ !== null && { typ }), alg: key.alg };
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${athenzSignature(key, text, true).toString('base64url')}`;
}
