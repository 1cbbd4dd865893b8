import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import { buildBundle, signBundle } from '../bundle/index.ts';
import type { EngineOptions } from '../engine/requests.ts';
import { PolicyEngine } from '../engine.ts';
import { replaceFile } from '../files/index.ts';
import type { CryptoKey } from '../keys/index.ts';
import { bundleFileName } from '../loader/bundle-file.ts';
import type { PolicyInput } from '../policy/index.ts';
import type { Jwk, JwkList, JwsPolicyData, KeyPurpose } from '../wire/index.ts';
import { makeCertificate, type TestCertificate } from './test-certificate.ts';
import { TestClock } from './test-clock.ts';

/** Test-specific members of a token; the rest has usual values. */
export interface TestTokenInput {
  domain: string;
  roles: readonly string[];
  /** Default `test.client`. */
  principal?: string;
  /** Default 3600; may be negative. */
  expiresInSeconds?: number;
  /** Binds the token to this certificate. Without it the token is unbound. */
  certificate?: { readonly thumbprint: string };
  /** Claims that replace or join the usual ones; `undefined` removes one. */
  claims?: Readonly<Record<string, unknown>>;
  /** Header members that replace or join the usual ones. */
  header?: Readonly<Record<string, unknown>>;
}

/** Test-specific members of a bundle; the rest has usual values. */
export interface TestBundleInput {
  domain: string;
  policies: readonly PolicyInput[];
  /** Default 1. */
  version?: number;
  /** Default 0. */
  epoch?: number;
  /** Milliseconds from the clock's now. Default seven days. */
  expiresIn?: number;
}

/** Options of a throw-away authority. */
export interface TestAuthorityOptions {
  /** Default `https://signet.test/v1`. */
  issuer?: string;
  clock?: TestClock;
}

interface SigningKey {
  readonly jwk: Jwk;
  readonly privateKey: CryptoKey;
}

/** A throw-away authority: everything that a token server, its keys and its certificate authority would give, in memory. */
export class TestAuthority {
  readonly issuer: string;
  readonly clock: TestClock;
  /** The public keys, as `GET /oauth2/keys` would answer them. */
  readonly keys: JwkList;
  /** The certificate authority, for `ca` of `node:tls`. */
  readonly ca: TestCertificate;
  readonly #tokenKey: SigningKey;
  readonly #bundleKey: SigningKey;
  readonly #issue: (commonName: string, lifetime: number) => TestCertificate;

  private constructor(options: TestAuthorityOptions, tokenKey: SigningKey, bundleKey: SigningKey) {
    this.issuer = options.issuer ?? 'https://signet.test/v1';
    this.clock = options.clock ?? new TestClock();
    this.keys = { keys: [tokenKey.jwk, bundleKey.jwk] };
    this.#tokenKey = tokenKey;
    this.#bundleKey = bundleKey;
    const day = 86_400_000;
    const authority = makeCertificate({
      commonName: 'Test Authority',
      notBefore: this.clock.now() - day,
      notAfter: this.clock.now() + 365 * day,
    });
    this.ca = authority.certificate;
    this.#issue = (commonName, lifetime) => {
      const now = this.clock.now();
      const input = { commonName, notBefore: now - 3_600_000, notAfter: now + lifetime };
      return makeCertificate(input, authority.issuer).certificate;
    };
  }

  /** Makes the keys; takes a few milliseconds. */
  static async create(options: TestAuthorityOptions = {}): Promise<TestAuthority> {
    return new TestAuthority(options, await signingKey('token'), await signingKey('bundle'));
  }

  /** A certificate of a service, of the token server for `sys.auth.server`, or a role certificate for a name such as `catalog:role.reader`. */
  certificate(commonName: string, lifetime = 86_400_000): TestCertificate {
    return this.#issue(commonName, lifetime);
  }

  /** An access token for the roles, signed with the token key. */
  async token(input: TestTokenInput): Promise<string> {
    const principal = input.principal ?? 'test.client';
    const issued = Math.floor(this.clock.now() / 1000);
    const claims: Record<string, unknown> = {
      ver: 1,
      iss: this.issuer,
      aud: input.domain,
      sub: principal,
      uid: principal,
      client_id: principal,
      iat: issued,
      auth_time: issued,
      exp: issued + (input.expiresInSeconds ?? 3600),
      jti: randomUUID(),
      scp: input.roles,
      scope: input.roles.join(' '),
      cnf: input.certificate && { 'x5t#S256': input.certificate.thumbprint },
      ...input.claims,
    };
    const header: JWTHeaderParameters = { alg: 'ES256', kid: this.#tokenKey.jwk.kid, typ: 'at+jwt', ...input.header };
    return new SignJWT(claims).setProtectedHeader(header).sign(this.#tokenKey.privateKey);
  }

  /** A signed bundle. */
  async bundle(input: TestBundleInput): Promise<JwsPolicyData> {
    const now = this.clock.now();
    const data = buildBundle({
      domain: input.domain,
      epoch: input.epoch ?? 0,
      version: input.version ?? 1,
      modified: now,
      issued: now,
      expires: now + (input.expiresIn ?? 604_800_000),
      policies: input.policies.map(({ name, assertions }) => ({
        name,
        modified: '2026-01-01T00:00:00.000Z',
        assertions: assertions.map((assertion) => ({ effect: 'ALLOW', ...assertion })),
      })),
    });
    return signBundle(data, { kid: this.#bundleKey.jwk.kid, privateKey: this.#bundleKey.privateKey });
  }

  /** Writes a bundle and `keys.json` into a policy directory, as the updater does: complete at every instant. */
  async writeBundle(policyDir: string, input: TestBundleInput): Promise<void> {
    // regardless of the umask: an engine reads nothing that a group may write to
    await mkdir(policyDir, { recursive: true, mode: 0o755 });
    const write = (name: string, content: unknown) =>
      replaceFile(join(policyDir, name), JSON.stringify(content), { mode: 0o644 });
    await write('keys.json', { issuer: this.issuer, keys: this.keys.keys });
    await write(bundleFileName(input.domain), await this.bundle(input));
  }

  /** An engine over unsigned policies that trusts this authority and uses its clock. */
  engine(domains: Readonly<Record<string, readonly PolicyInput[]>>, options: EngineOptions = {}): PolicyEngine {
    return PolicyEngine.fromDomains(domains, {
      keys: this.keys,
      issuers: [this.issuer],
      clock: this.clock,
      ...options,
    });
  }
}

async function signingKey(purpose: KeyPurpose): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const { x = '', y = '' } = await exportJWK(publicKey);
  const members = { kty: 'EC', crv: 'P-256', x, y } as const;
  const kid = await calculateJwkThumbprint(members);
  return { jwk: { ...members, kid, alg: 'ES256', use: 'sig', purpose }, privateKey };
}
