/** What one profile does differently from the other. Handlers read these fields and never ask for a profile's name. */
export interface ProfileRules {
  readonly name: 'signet' | 'athenz';
  /** Path of the base URL when none is configured. */
  readonly basePath: string;
  /** Header that carries a principal token, lower-case. */
  readonly principalTokenHeader: string;
  /** A bad principal token beside a good certificate: refused, or as if it had not been sent (decision 10). */
  readonly badPrincipalToken: 'refused' | 'ignored';
  /** Whether a principal token authenticates a request, to any operation, that has no client certificate. */
  readonly principalTokenAlone: boolean;
  /** Default of the option `anonymousKeys` (decision 7). */
  readonly anonymousKeys: boolean;
  /** Whether the older signed form of policies is served (decision 28). */
  readonly signedPolicyData: boolean;
  /** Form of an ES256 signature over a bundle when the request does not say (facts of the older clients: DER). */
  readonly bundleSignature: 'p1363' | 'der';
  /** Whether empty path segments are taken out, for clients that join their base URL and a path with two slashes. */
  readonly mergesSlashes: boolean;
  /** What `expiryTime` of a certificate request counts, in seconds (decision 19). */
  readonly expiryTimeSeconds: 1 | 60;
  /** `WWW-Authenticate` of a 401 (RFC 9110 §15.5.2 wants one). */
  readonly challenge: string;
}

/** The differences of the profiles, all of them. */
export const profiles: Readonly<Record<ProfileRules['name'], ProfileRules>> = {
  signet: {
    name: 'signet',
    basePath: '/v1',
    principalTokenHeader: 'svc-principal-auth',
    badPrincipalToken: 'refused',
    principalTokenAlone: false,
    anonymousKeys: false,
    signedPolicyData: false,
    bundleSignature: 'p1363',
    mergesSlashes: false,
    expiryTimeSeconds: 1,
    challenge: 'ClientCertificate realm="signet"',
  },
  athenz: {
    name: 'athenz',
    basePath: '/zts/v1',
    principalTokenHeader: 'athenz-principal-auth',
    badPrincipalToken: 'ignored',
    principalTokenAlone: true,
    anonymousKeys: true,
    signedPolicyData: true,
    bundleSignature: 'der',
    mergesSlashes: true,
    expiryTimeSeconds: 60,
    challenge: 'AthenzX509Certificate realm="athenz"',
  },
};
