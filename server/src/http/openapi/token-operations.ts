import { z } from 'zod';
import { requestSchema as bundleRequest } from '../routes/policy-bundle.ts';
import { names } from './names.ts';
import type { Operation, OperationAnswer } from './operation.ts';

const text = z.string();

export const jwkShape = z.strictObject({
  kty: z.enum(['EC', 'RSA']),
  kid: text,
  alg: text,
  use: z.literal('sig'),
  crv: text.optional(),
  x: text.optional(),
  y: text.optional(),
  n: text.optional(),
  e: text.optional(),
  purpose: z.enum(['token', 'bundle']).optional(),
});
export const jwkListShape = z.strictObject({ keys: z.array(jwkShape) });
const bundle = { payload: text, protected: text, signature: text };
export const bundleShape = z.strictObject(bundle);
export const athenzBundleShape = z.strictObject({ ...bundle, header: z.strictObject({ kid: text }) });
const int32 = 2 ** 31 - 1;
export const tokenForm = z.object({
  grant_type: z.literal('client_credentials'),
  scope: text.meta({ minLength: 1, description: 'space-separated scopes (docs/reference/tokens.md)' }),
  expires_in: z.int().meta({ minimum: 0, description: 'seconds; 0 means the default' }).optional(),
  client_id: names.EntityName.optional(),
  client_secret: z.literal('').optional(),
});
export const tokenShape = z.strictObject({
  access_token: text,
  token_type: z.literal('Bearer'),
  expires_in: z.int().meta({ minimum: 1, maximum: int32 }),
  scope: text,
  id_token: text.optional(),
});
export const publicKeyShape = z.strictObject({ key: text, id: text });
export const cloudCredentialsShape = z.strictObject({
  accessKeyId: text,
  secretAccessKey: text,
  sessionToken: text,
  expiration: names.Timestamp,
});

/** Answers that are the same for all callers and may be cached for a while. */
export function cached(schema: z.ZodType, says: string): Record<200 | 304, OperationAnswer> {
  return {
    200: { says, schema, headers: { ETag: 'always' } },
    304: { says: 'not modified: the copy of the caller is current' },
  };
}

export const bundleFailures = [404, 409, 503] as const;

/** Tokens, and what they are verified with. */
export function tokenOperations(base: string): readonly Operation[] {
  const tag = 'tokens';
  return [
    {
      id: 'AccessToken',
      method: 'post',
      path: `${base}/oauth2/token`,
      tag,
      summary: 'Issues an access token, and an ID token if the scope requests one (RFC 6749 §4.4)',
      body: tokenForm,
      bodyType: 'application/x-www-form-urlencoded',
      isOAuth: true,
      answers: { 200: { says: 'the tokens', schema: tokenShape, headers: { Pragma: 'always' } } },
      failures: [403, 404, 503],
    },
    {
      id: 'JWKList',
      method: 'get',
      path: `${base}/oauth2/keys`,
      tag,
      summary: 'Returns the public keys of tokens and bundles',
      query: { rfc: { says: '`true`: curve names of RFC 7518', schema: z.boolean() } },
      answers: cached(jwkListShape, 'the keys'),
      failures: [],
    },
    {
      id: 'JWKSet',
      method: 'get',
      path: `${base}/.well-known/jwks.json`,
      tag,
      summary: 'Returns the public keys of tokens and bundles as a JWK Set (RFC 7517)',
      answers: cached(jwkListShape, 'the keys'),
      failures: [],
    },
  ];
}

/** `complete`: whether there are no others. */
const bundleDomainsShape = z.strictObject({
  reader: names.EntityName,
  complete: z.boolean(),
  domains: z.array(names.DomainName),
});

/** Operations of a domain: its signed policy, the keys of its services, and credentials of its cloud account. */
export function domainOperations(base: string): readonly Operation[] {
  const tag = 'tokens';
  const domain = `${base}/domain/{domainName}`;
  const signed = (schema: z.ZodType, tag: 'always' | 'sometimes'): Record<200 | 304, OperationAnswer> => ({
    200: { says: 'the bundle', schema, headers: { ETag: tag, 'Last-Modified': 'always' } },
    304: { says: 'not modified: the copy of the caller is current' },
  });
  return [
    {
      id: 'SignedPolicy',
      method: 'get',
      path: `${domain}/policy/signed`,
      tag,
      summary: 'Returns the signed policy of a domain in a cacheable form',
      answers: signed(bundleShape, 'always'),
      failures: bundleFailures,
    },
    {
      id: 'SignedPolicyRequest',
      method: 'post',
      path: `${domain}/policy/signed`,
      tag,
      summary: 'Returns the signed policy of a domain, with selected versions and signature form',
      body: bundleRequest,
      answers: signed(athenzBundleShape, 'sometimes'),
      failures: bundleFailures,
    },
    {
      id: 'BundleDomains',
      method: 'get',
      path: `${base}/bundle-domains`,
      tag,
      summary: 'Lists the domains that name the caller in `bundleReaders`',
      answers: {
        200: {
          says: 'the first 10,000 domains, ordered by name',
          schema: bundleDomainsShape,
          headers: { ETag: 'always' },
        },
        304: { says: 'not modified: the copy of the caller is current', headers: { ETag: 'always' } },
      },
      failures: [403],
    },
    {
      id: 'PublicKeyEntry',
      method: 'get',
      path: `${domain}/service/{serviceName}/publickey/{keyId}`,
      tag,
      summary: 'Returns a public key of a service',
      answers: { 200: { says: 'the key, its PEM in the Base64 of principal tokens', schema: publicKeyShape } },
      failures: [404],
    },
    {
      id: 'AWSTemporaryCredentials',
      method: 'get',
      path: `${domain}/role/{roleName}/creds`,
      tag,
      summary: 'Issues temporary credentials of a cloud role',
      inPath: { roleName: names.AWSArnRoleName },
      query: {
        durationSeconds: { says: 'lifetime of the session', schema: z.int().meta({ minimum: 900, maximum: 43_200 }) },
        externalId: {
          says: 'external ID required by the trust policy of the role',
          schema: text.meta({ minLength: 2, maxLength: 1224, pattern: '^[\\w+=,.@:/-]*$' }),
        },
      },
      answers: { 200: { says: 'the credentials', schema: cloudCredentialsShape } },
      failures: [403, 404, 503],
    },
  ];
}
