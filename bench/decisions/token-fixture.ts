import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import { PolicyEngine } from '@signet/policy-engine';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { certificateThumbprint } from '@signet/policy-engine/token';
import type { Jwk } from '@signet/policy-engine/wire';
import { createWorkload, domain, type Question } from './workload.ts';

const issuer = 'https://localhost:4443/v1';
const kid = 'benchmark';

/** The object of a connection's certificate. */
export interface Certificate {
  readonly raw: Uint8Array;
}

/** A good token as its bytes come in a header, and what it takes to verify its signature alone. */
export interface SignedToken {
  readonly text: string;
  readonly header: Buffer;
  /** Verifies the signature and nothing else, by `crypto.verify`. */
  readonly verifyBare: () => boolean;
  /** The same in the form that Node verifies fastest, which no token has: the signature in DER, and a key without options. */
  readonly verifyAtBest: () => boolean;
}

/** Tokens of one holder, and questions that they may ask. */
export interface TokenFixture {
  readonly certificate: Certificate;
  readonly thumbprint: string;
  readonly tokens: readonly SignedToken[];
  readonly roles: readonly string[];
  /** The first is allowed or denied by an assertion. */
  readonly question: Question;
  readonly rules: ReturnType<typeof createWorkload>['rules'];
  /** Engine with the assertions that caches `maxCachedTokens`. */
  engine(maxCachedTokens: number): PolicyEngine;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Fixture of `count` tokens that differ in their id, bound to one certificate; 10,000 assertions. */
export function createTokenFixture(count: number): TokenFixture {
  const { rules, questions } = createWorkload({ size: 10_000, layout: 'many roles', kind: 'exact' });
  const [question] = questions.get('hit, 1 role') ?? [];
  if (question === undefined) throw new Error('no question');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = { raw: new Uint8Array(randomBytes(600)) };
  const thumbprint = certificateThumbprint(certificate);
  const tokens = Array.from({ length: count }, (_, index): SignedToken => {
    const input = `${base64url({ alg: 'ES256', kid, typ: 'at+jwt' })}.${base64url(claimsOf(index, question.roles, thumbprint))}`;
    const signed = Buffer.from(input);
    const signature = sign('sha256', signed, { key: privateKey, dsaEncoding: 'ieee-p1363' });
    const der = sign('sha256', signed, privateKey);
    const text = `${input}.${signature.toString('base64url')}`;
    return {
      text,
      header: Buffer.from(`Bearer ${text}`),
      verifyBare: () => verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature),
      verifyAtBest: () => verify('sha256', signed, publicKey, der),
    };
  });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const jwk: Jwk = { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
  const domains = { [domain]: [{ name: 'benchmark', assertions: [...rules] }] };
  return {
    certificate,
    thumbprint,
    tokens,
    roles: question.roles,
    question,
    rules,
    engine: (maxCachedTokens) =>
      PolicyEngine.fromDomains(domains, { keys: { keys: [jwk] }, issuers: [issuer], maxCachedTokens }),
  };
}

function claimsOf(index: number, roles: readonly string[], thumbprint: string): object {
  const now = epochSeconds(systemClock);
  return {
    ver: 1,
    iss: issuer,
    aud: domain,
    sub: 'media.player',
    uid: 'media.player',
    client_id: 'media.player',
    iat: now,
    exp: now + 7200,
    jti: `benchmark-${index}`,
    scp: roles,
    cnf: { 'x5t#S256': thumbprint },
  };
}
