import { exactKeyId, type FindKeyId, keyIdInAnyCase } from './base/registered-key.ts';

/** Differences between profiles. Handlers read these fields and never ask for a profile's name. */
export interface ProfileRules {
  readonly name: 'signet' | 'athenz';
  /** Path of the base URL when none is configured. */
  readonly basePath: string;
  /** True if a principal token authenticates a request without a client certificate, where it is accepted at all. */
  readonly principalTokenAlone: boolean;
  /**
   * The operations below the base path whose caller a principal token names (docs/reference/authentication.md#principal-tokens); `*` is one
   * part of a path, `**` the rest.
   */
  readonly principalTokenOperations: readonly string[];
  /** Default of the option `anonymousKeys` (docs/reference/authentication.md#client-certificates). */
  readonly anonymousKeys: boolean;
  /** Paths below the base path that answer everybody, beside health and, with `anonymousKeys`, keys and metadata. */
  readonly openPaths: readonly string[];
  /** Form of an ES256 signature over a bundle when the request does not say (facts of the older clients: DER). */
  readonly bundleSignature: 'p1363' | 'der';
  /**
   * True if clients that `POST` for a bundle ignore its conditions, so that one with conditions is refused. The engine of Signet evaluates them,
   * and its updater asks with `GET`.
   */
  readonly bundleConditionsIgnored: boolean;
  /** True to remove empty path segments, for clients that join their base URL and a path with two slashes. */
  readonly mergesSlashes: boolean;
  /** True if the server signs principal tokens for instances, and accepts them. */
  readonly signsForServices: boolean;
  /** Syntax of requests for access tokens: by the RFC, or as clients of Athenz mean them. */
  readonly tokenRequests: 'plain' | 'athenz';
  /** True if a role certificate that names its holder gets tokens for its role. */
  readonly roleCertificatesGetTokens: boolean;
  /** Look-up of a registered key by the id in a token or a request. */
  readonly findKeyId: FindKeyId;
  /** Services in whose name the server publishes its own keys, as `domain.service`. */
  readonly ownKeyServices: readonly string[];
  /** Entity tag of a bundle requested with `POST`: that of the edition, or the time of the domain's last change. */
  readonly bundleTag: 'edition' | 'modified';
  /** Accepted spellings of names in certificate requests (decision 006). */
  readonly nameForms: 'own' | 'athenz';
  /** Suffixes below which services have names beside `certificates.dnsSuffix`, when none are configured; absent: none can be. */
  readonly dnsSuffixes?: readonly string[];
  /** True to trim white space around a join token. */
  readonly trimsJoinTokens: boolean;
  /** Unit of `expiryTime` of a certificate request, in seconds (docs/reference/certificates.md#units-of-expirytime). */
  readonly expiryTimeSeconds: 1 | 60;
  /** `WWW-Authenticate` of a 401 (RFC 9110 §15.5.2 wants one). */
  readonly challenge: string;
}

/** The differences of the profiles, all of them. */
export const profiles: Readonly<Record<ProfileRules['name'], ProfileRules>> = {
  signet: {
    name: 'signet',
    basePath: '/v1',
    principalTokenAlone: false,
    principalTokenOperations: ['GET /access/**'],
    anonymousKeys: false,
    openPaths: [],
    bundleSignature: 'p1363',
    bundleConditionsIgnored: false,
    mergesSlashes: false,
    signsForServices: false,
    tokenRequests: 'plain',
    roleCertificatesGetTokens: false,
    findKeyId: exactKeyId,
    ownKeyServices: [],
    bundleTag: 'edition',
    nameForms: 'own',
    trimsJoinTokens: false,
    expiryTimeSeconds: 1,
    challenge: 'ClientCertificate realm="signet"',
  },
  athenz: {
    name: 'athenz',
    basePath: '/zts/v1',
    principalTokenAlone: true,
    principalTokenOperations: [
      'GET /access/**',
      'POST /oauth2/token',
      'POST /instance/*/*/refresh',
      'GET /domain/*/token',
      'GET /oauth2/auth',
      'GET /domain/*/service',
      'GET /domain/*/service/*',
      'GET /host/*/services',
      'GET /providerdomain/*/user/*',
      'GET /role/cert',
      'GET /oauth2/keys',
      'GET /.well-known/**',
      'GET /openapi.json',
      'GET /domain/*/signed_policy_data',
      'GET /domain/*/policy/signed',
      'POST /domain/*/policy/signed',
      'GET /domain/*/service/*/publickey/*',
      'GET /cacerts/*',
      'GET /crl',
      'GET /crl/*',
      'GET /sshcert/krl',
    ],
    anonymousKeys: true,
    openPaths: ['/status'],
    bundleSignature: 'der',
    bundleConditionsIgnored: true,
    mergesSlashes: true,
    signsForServices: true,
    tokenRequests: 'athenz',
    roleCertificatesGetTokens: true,
    findKeyId: keyIdInAnyCase,
    ownKeyServices: ['sys.auth.zms', 'sys.auth.zts'],
    bundleTag: 'modified',
    nameForms: 'athenz',
    dnsSuffixes: ['athenz.cloud'],
    trimsJoinTokens: true,
    expiryTimeSeconds: 60,
    challenge: 'AthenzX509Certificate realm="athenz"',
  },
};
