import type { RouterMiddleware } from '@koa/router';
import type { Addresses } from '../../config/config.ts';
import { answerCached } from '../cached-answer.ts';
import type { RequestState } from '../context.ts';

/**
 * The server's metadata (RFC 8414 §2, RFC 8705 §3.3 and §5, OpenID Connect Discovery §3). Every address comes from the configuration, never from
 * the request.
 */
export function serverMetadata(addresses: Addresses, bound: boolean): Readonly<Record<string, unknown>> {
  const tokenEndpoint = `${addresses.baseUrl}/oauth2/token`;
  return {
    issuer: addresses.issuer,
    token_endpoint: tokenEndpoint,
    jwks_uri: `${addresses.baseUrl}/oauth2/keys?rfc=true`,
    grant_types_supported: ['client_credentials'],
    // There is no authorization endpoint; RFC 8414 §2 wants the member, and §3.2 no empty array.
    response_types_supported: ['none'],
    // The others, `<domain>:domain` and `<domain>:role.<role>`, are as numerous as roles.
    scopes_supported: ['openid'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    token_endpoint_auth_methods_supported: ['tls_client_auth'],
    tls_client_certificate_bound_access_tokens: bound,
    mtls_endpoint_aliases: { token_endpoint: tokenEndpoint },
  };
}

/** Paths of the two documents: below the base URL, and where RFC 8414 §3.1 and OpenID Discovery §4 look for the issuer's. */
export function metadataPaths(addresses: Addresses): readonly string[] {
  const issuerPath = new URL(addresses.issuer).pathname.replace(/\/+$/, '');
  const names = ['oauth-authorization-server', 'openid-configuration'];
  const paths = names.flatMap((name) => [
    `${addresses.basePath}/.well-known/${name}`,
    `${issuerPath}/.well-known/${name}`,
    `/.well-known/${name}${issuerPath}`,
  ]);
  return [...new Set(paths)];
}

/** `GET …/.well-known/oauth-authorization-server` and `…/openid-configuration`. */
export function metadataRoute(
  metadata: Readonly<Record<string, unknown>>,
  maxAgeSeconds: number,
): RouterMiddleware<RequestState> {
  const json = JSON.stringify(metadata);
  return (ctx) => answerCached(ctx, json, maxAgeSeconds);
}
