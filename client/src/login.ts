import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { isObject, malformed, stringMember, stringsMember } from './decode.ts';
import { serverCheck } from './http/server-check.ts';
import { makeKeyAndRequest } from './identity/certificate-request.ts';
import type { IdentityTexts } from './identity/identity-files.ts';
import { getJson, type Peer, postJson } from './identity/post-json.ts';
import { commonName } from './roles.ts';

/** The server that a person logs in to. */
export interface LoginOptions {
  /** `https` URL of the API. */
  readonly baseUrl: string;
  /** PEM of the CA certificates that the server's must chain to. */
  readonly caBundle: string;
  /** Expected identity in the server's certificate. Default `sys.auth.server`. */
  readonly serverIdentity?: string | undefined;
  /** Default 30,000. */
  readonly timeoutMs?: number;
}

/** An OpenID Connect issuer with which people log in, and the client that it knows. */
export interface LoginIssuer {
  readonly issuer: string;
  readonly clientId: string;
  /** Scopes to request beside `openid`. */
  readonly scopes: readonly string[];
}

/** Certificate and key from a person's login. */
export interface LoginCertificate extends IdentityTexts {
  /** `user.<name>`. */
  readonly principal: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/** Login of a person, over a key that is made for it. Every method throws only `SignetClientError`. */
export interface Login {
  /** Public key in DER, from which the nonce of the ID token is derived (docs/reference/certificates.md#login). */
  readonly publicKey: Uint8Array;
  /** `GET /login`. */
  issuers(signal?: AbortSignal): Promise<readonly LoginIssuer[]>;
  /** `POST /login`. Throws `refused` with 401 for an invalid token, with 403 for a person who may not log in. */
  certificate(
    token: { readonly issuer: string; readonly idToken: string; readonly salt: string },
    signal?: AbortSignal,
  ): Promise<LoginCertificate>;
}

/** Makes a key for a login. Throws `invalid-argument`. */
export async function createLogin(options: LoginOptions): Promise<Login> {
  const { baseUrl, caBundle, timeoutMs = 30_000 } = options;
  const isServer = serverCheck(options.serverIdentity);
  const peer: Peer = { baseUrl: baseUrl.replace(/\/+$/, ''), caBundle, timeoutMs, isServer };
  const { key, request: csr } = await makeKeyAndRequest({ commonName: 'login', uris: [], dnsNames: [] });
  return {
    publicKey: createPublicKey(key).export({ type: 'spki', format: 'der' }),
    issuers: async (signal) => issuersOf((await getJson(peer, ['login'], signal))['issuers']),
    certificate: async (token, signal) => {
      const answer = await postJson(peer, ['login'], { ...token, csr }, signal);
      const [certificate, issuers] = [stringMember(answer, 'certificate'), stringMember(answer, 'caCertBundle')];
      const leaf = readLeaf(certificate);
      const principal = commonName(leaf.subject);
      if (principal !== answer['name'] || !leaf.checkPrivateKey(createPrivateKey(key))) {
        throw malformed('its certificate does not match the request');
      }
      return { principal, certificate, key, issuers, notAfter: leaf.validToDate.getTime() };
    },
  };
}

function readLeaf(certificate: string): X509Certificate {
  try {
    return new X509Certificate(certificate);
  } catch {
    throw malformed('it contains no certificate');
  }
}

function issuersOf(value: unknown): readonly LoginIssuer[] {
  if (!Array.isArray(value) || !value.every(isObject)) throw malformed('`issuers` must be an array of objects');
  return value.map((each) => ({
    issuer: stringMember(each, 'issuer'),
    clientId: stringMember(each, 'clientId'),
    scopes: stringsMember(each, 'scopes'),
  }));
}
