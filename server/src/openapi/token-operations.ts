import { z } from 'zod';
import { requestSchema as roleRequest } from '../http/routes/identity/role-certificate.ts';
import { requestSchema as serviceRequest } from '../http/routes/identity/service-refresh.ts';
import { requestSchema as bundleRequest } from '../http/routes/policy-bundle.ts';
import { refreshSchema, registerSchema } from '../instances/instance-request.ts';
import { bodySchema as sshRevocation } from '../ssh/revoke-ssh.ts';
import { requestSchema as sshRequest } from '../ssh/ssh-csr.ts';
import type { Operation, OperationAnswer } from './operation.ts';

const base = '/v1';
const text = z.string();
const jwk = z.strictObject({
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
const access = z.strictObject({ granted: z.boolean() });
const bundle = z.strictObject({ payload: text, protected: text, signature: text });
const athenzBundle = bundle.extend({ header: z.strictObject({ kid: text }) });
/** The answer to a registration (docs/reference/certificates.md#instances). */
export const identityShape = z.strictObject({
  provider: text,
  name: text,
  instanceId: text,
  x509Certificate: text.optional(),
  x509CertificateSigner: text.optional(),
  sshCertificate: text.optional(),
  sshCertificateSigner: text.optional(),
  attributes: z.record(text, text).optional(),
});
const tokenForm = z.object({
  grant_type: z.literal('client_credentials'),
  scope: text,
  expires_in: text.optional(),
  client_id: text.optional(),
});
const tokenAnswer = z.strictObject({
  access_token: text,
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  scope: text,
  id_token: text.optional(),
});
const metadata = z.looseObject({ issuer: text, token_endpoint: text, jwks_uri: text });

const ok = (schema: z.ZodType, says = 'the answer'): Record<200, OperationAnswer> => ({ 200: { says, schema } });
const cached = (schema: z.ZodType) => ({ ...ok(schema), 304: { says: 'the caller has it' } });
/** A list of what is revoked, which caches may keep. */
const list = (type: string, otherType?: string): Record<200 | 304, OperationAnswer> => ({
  200: {
    says: 'the list',
    type,
    ...(otherType !== undefined && { otherType }),
    headers: { ETag: 'of these bytes', 'Cache-Control': '`max-age`: never past the end of the list' },
  },
  304: { says: 'the caller has it' },
});
const derOrPem = list('application/pkix-crl', 'application/x-pem-file');
const format = { format: '`der` (default) or `pem`; without it `Accept` decides' };

const asking = {
  principal: 'about whom (default: the caller)',
  domain: 'for `assume_role`: the domain whose policy decides',
  thumbprint:
    'of the certificate that named the principal, `x5t#S256` (RFC 8705 §3.1): not granted when it was revoked',
};
const accessSummary = 'Whether a principal may do an action on a resource';
const resource = { resource: '`domain:entity`' };

/** The two forms of the access check, which the management API has as well. */
function accessChecks(at: string): readonly Operation[] {
  return [
    {
      method: 'get',
      path: `${at}/access/{action}`,
      summary: accessSummary,
      query: { ...resource, ...asking },
      answers: ok(access),
    },
    {
      method: 'get',
      path: `${at}/access/{action}/{resource}`,
      summary: accessSummary,
      query: asking,
      answers: ok(access),
    },
  ];
}

const tokens: readonly Operation[] = [
  {
    method: 'post',
    path: `${base}/oauth2/token`,
    summary: 'An access token, and an ID token when the scope asks for one (RFC 6749 §4.4)',
    body: tokenForm,
    bodyType: 'application/x-www-form-urlencoded',
    answers: ok(tokenAnswer, 'the tokens'),
  },
  {
    method: 'get',
    path: `${base}/oauth2/keys`,
    summary: 'The public keys of tokens and bundles',
    query: { rfc: '`true`: names of curves as in RFC 7518' },
    answers: cached(z.strictObject({ keys: z.array(jwk) })),
  },
  {
    method: 'get',
    path: `${base}/.well-known/jwks.json`,
    summary: 'The same as a JWK set (RFC 7517)',
    answers: cached(z.strictObject({ keys: z.array(jwk) })),
  },
  ...['oauth-authorization-server', 'openid-configuration'].flatMap((name) =>
    [`${base}/.well-known/${name}`, `/.well-known/${name}${base}`].map((path): Operation => {
      return { method: 'get', path, summary: 'Metadata of the server (RFC 8414)', answers: cached(metadata) };
    }),
  ),
  ...accessChecks(base),
  {
    method: 'get',
    path: `${base}/access/domain/{domainName}/principal/{principal}`,
    summary: 'The roles that a principal has in a domain',
    answers: ok(z.strictObject({ roles: z.array(text) })),
  },
  {
    method: 'get',
    path: `${base}/access/domain/{domainName}/role/{roleName}/principal/{principal}`,
    summary: 'Whether a principal is in a role',
    answers: ok(access),
  },
  {
    method: 'get',
    path: `${base}/domain/{domainName}/policy/signed`,
    summary: 'The signed policy of a domain, in a form that caches can hold',
    answers: cached(bundle),
  },
  {
    method: 'post',
    path: `${base}/domain/{domainName}/policy/signed`,
    summary: 'The same with versions and a form of signature of the caller’s choice',
    body: bundleRequest,
    answers: cached(athenzBundle),
  },
  {
    method: 'get',
    path: `${base}/domain/{domainName}/service/{serviceName}/publickey/{keyId}`,
    summary: 'A public key of a service',
    answers: ok(z.strictObject({ key: text, id: text })),
  },
  {
    method: 'get',
    path: `${base}/domain/{domainName}/role/{roleName}/creds`,
    summary: 'Temporary credentials of a cloud role',
    query: { durationSeconds: '900 to 43200', externalId: 'as the trust policy of the role asks for' },
    answers: ok(
      z.strictObject({ accessKeyId: text, secretAccessKey: text, sessionToken: text, expiration: z.iso.datetime() }),
    ),
  },
];

const instance = `${base}/instance/{provider}/{domain}/{service}/{instanceId}`;
const identities: readonly Operation[] = [
  {
    method: 'post',
    path: `${base}/instance`,
    summary: 'Registers an instance, which shows what it is by its attestation data',
    body: registerSchema,
    open: true,
    answers: { 201: { says: 'its identity', schema: identityShape } },
  },
  {
    method: 'post',
    path: `${base}/instance/{domain}/{service}/refresh`,
    summary: 'A new certificate for a service that holds a known key',
    body: serviceRequest,
    answers: ok(z.strictObject({ name: text, certificate: text, caCertBundle: text })),
  },
  {
    method: 'post',
    path: instance,
    summary: 'A new certificate for an instance',
    body: refreshSchema,
    answers: ok(identityShape),
  },
  { method: 'delete', path: instance, summary: 'Deletes an instance', answers: { 204: { says: 'it is gone' } } },
  {
    method: 'get',
    path: `${instance}/token`,
    summary: 'A join token with which the instance registers',
    answers: ok(
      z.strictObject({
        provider: text,
        domain: text,
        service: text,
        attestationData: text,
        attributes: z.record(text, text),
      }),
    ),
  },
  {
    method: 'post',
    path: `${base}/domain/{domainName}/role/{roleName}/token`,
    summary: 'A certificate for a role that the caller holds',
    body: roleRequest,
    answers: ok(z.strictObject({ token: text, expiryTime: z.int() })),
  },
  {
    method: 'post',
    path: `${base}/rolecert`,
    summary: 'The same, with the role in the certificate request',
    body: roleRequest,
    answers: ok(z.strictObject({ x509Certificate: text })),
  },
  {
    method: 'get',
    path: `${base}/cacerts/{name}`,
    summary: 'Certificates of the authorities: `roots` to trust, the `issuers` below them, or both as `chain`',
    answers: cached(z.strictObject({ name: text, certs: text })),
  },
  {
    method: 'get',
    path: `${base}/crl`,
    summary: 'The revocation list of the first active issuer (RFC 5280 §5)',
    query: format,
    answers: derOrPem,
  },
  {
    method: 'get',
    path: `${base}/crl/{issuer}`,
    summary:
      'That of an issuer or a root by its subject key identifier in hexadecimal; `chain`: those of all, one after the other, always PEM',
    query: format,
    answers: derOrPem,
  },
  {
    method: 'post',
    path: `${base}/sshcert`,
    summary: 'An SSH certificate',
    body: sshRequest,
    answers: {
      201: {
        says: 'the certificate and who signed it',
        schema: z.strictObject({
          certificates: z.array(z.strictObject({ certificate: text })),
          certificateSigner: text,
        }),
      },
    },
  },
  {
    method: 'post',
    path: `${base}/sshcert/revoke`,
    summary: 'Revokes SSH certificates by serial number or key id',
    body: sshRevocation,
    answers: ok(z.strictObject({ revoked: z.int() })),
  },
  {
    method: 'get',
    path: `${base}/sshcert/krl`,
    summary: 'Revoked SSH certificates, in the form that `RevokedKeys` of sshd reads',
    answers: list('application/octet-stream'),
  },
];

const alive = ok(z.strictObject({ status: z.literal('alive') }));
const freshness = z.enum(['fresh', 'late', 'ended']);
const readiness = z.looseObject({
  status: z.enum(['ready', 'stopping', 'no-signing-key', 'certificate-expired', 'clock']),
  // What follows is for operators.
  degraded: z.literal('clock').optional(),
  snapshot: z.strictObject({ counter: z.int(), ageMs: z.number() }).optional(),
  store: z.enum(['readable', 'unreadable', 'read-only']).optional(),
  certificate: z.strictObject({ status: freshness, notAfter: text }).optional(),
  revocationLists: z.strictObject({ status: freshness, left: z.number() }).optional(),
  keys: z.strictObject({ token: text.nullable(), bundle: text.nullable(), missing: z.array(text) }).optional(),
});
const probes = ['', base].flatMap((at): Operation[] => [
  { method: 'get', path: `${at}/healthz`, summary: 'Whether the process is alive', open: true, answers: alive },
  {
    method: 'get',
    path: `${at}/readyz`,
    summary: 'Whether it can do its work; an operator is told how fresh what it works with is',
    open: true,
    answers: { ...ok(readiness, 'it can'), 503: { says: 'it cannot', schema: readiness } },
  },
]);

/** Every operation of the token server, and of the management API what both have. */
export const tokenOperations: readonly Operation[] = [
  ...tokens,
  ...identities,
  ...probes,
  ...accessChecks('/management/v1'),
];
