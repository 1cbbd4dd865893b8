import type { LoginIssuer } from '@signet/client';
import * as oidc from 'openid-client';
import { type BoundedFetch, boundedFetch } from '../../base/bounded-fetch.ts';
import { openLoopback } from './loopback.ts';

/** Request for an ID token. */
interface IssuerQuestion {
  readonly issuer: LoginIssuer;
  readonly nonce: string;
  /** PEM of the authorities to which the issuer's certificate must chain; absent: those that this machine trusts. */
  readonly ca: string | undefined;
  /** Secret of a confidential client. */
  readonly clientSecret: string | undefined;
  readonly show: (address: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Login of a person at an issuer with a browser: authorization code with PKCE and a loopback redirect (RFC 8252, RFC 9700 §2.1). Returns the ID
 * token, whose signature, issuer, audience, nonce and times were checked; the server that gets it checks them again.
 */
export async function askIssuer(question: IssuerQuestion): Promise<string> {
  const { issuer, nonce, show, signal } = question;
  try {
    const config = await discover(question);
    const state = oidc.randomState();
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    await using loopback = await openLoopback(state);
    const address = oidc.buildAuthorizationUrl(config, {
      redirect_uri: loopback.redirectUri,
      scope: ['openid', ...issuer.scopes].join(' '),
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      nonce,
      state,
    });
    show(address.href);
    const answer = await loopback.answer(signal);
    const checks = { pkceCodeVerifier, expectedNonce: nonce, expectedState: state, idTokenExpected: true };
    const { id_token: idToken } = await oidc.authorizationCodeGrant(config, answer, checks);
    if (idToken === undefined) throw new Error('it sent no ID token');
    return idToken;
  } catch (error) {
    if (signal.aborted) throw new Error(endedBy(signal.reason), { cause: error });
    throw new Error(`the issuer \`${issuer.issuer}\`: ${reasonOf(error)}`, { cause: error });
  }
}

function endedBy(reason: unknown): string {
  const isLate = reason instanceof DOMException && reason.name === 'TimeoutError';
  return isLate ? 'the login was not completed within `--timeout`' : 'the login was cancelled';
}

async function discover({ issuer, ca, clientSecret }: IssuerQuestion): Promise<oidc.Configuration> {
  const authentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
  const config = await oidc.discovery(new URL(issuer.issuer), issuer.clientId, undefined, authentication, {
    [oidc.customFetch]: fetchWith(boundedFetch(ca)),
    // The signature too, although the token comes from the issuer over TLS: with a wrong one the server would say no.
    execute: [oidc.enableNonRepudiationChecks],
  });
  const { code_challenge_methods_supported: methods } = config.serverMetadata();
  if (methods !== undefined && !methods.includes('S256')) throw new Error('it does not support PKCE with S256');
  return config;
}

function fetchWith(fetch: BoundedFetch): oidc.CustomFetch {
  return (url, { method, headers, body, signal }) => {
    if (body !== null && body !== undefined && typeof body !== 'string' && !(body instanceof URLSearchParams)) {
      throw new TypeError('the request body must be text');
    }
    return fetch(url, { method, headers, signal, ...(body !== undefined && { body }) });
  };
}

/** The words of the issuer where it refused, else what is wrong with its answer. Neither holds a code or a token. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it cannot be reached';
  if ('error' in error && typeof error.error === 'string') {
    const description = 'error_description' in error ? error.error_description : undefined;
    return `it answered \`${error.error}\`${typeof description === 'string' ? `: ${description}` : ''}`;
  }
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? `${error.message} (${cause.message})` : error.message;
}
