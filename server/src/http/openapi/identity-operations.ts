import { z } from 'zod';
import { refreshSchema, registerSchema } from '../../instances/instance-request.ts';
import { bodySchema as sshRevocation } from '../../ssh/revoke-ssh.ts';
import { requestSchema as sshRequest } from '../../ssh/ssh-csr.ts';
import { requestSchema as principalRequest } from '../routes/identity/issue-identity.ts';
import { loginPath, requestSchema as loginRequest } from '../routes/identity/login.ts';
import { requestSchema as roleRequest } from '../routes/identity/role-certificate.ts';
import { requestSchema as serviceRequest } from '../routes/identity/service-refresh.ts';
import { names } from './names.ts';
import type { Operation, OperationAnswer, Parameter } from './operation.ts';
import { cached } from './token-operations.ts';

const text = z.string();
/** A field that must be there with something in it, at most as long as `field` may be. */
const required = (maxLength: number) => text.meta({ minLength: 1, maxLength });

/** `InstanceRegisterInformation`: what must be there is looked at after the schema of the server (`parseRegisterInformation`). */
export const registerInformation = registerSchema.extend({
  provider: names.ProviderName,
  domain: names.DomainName,
  service: names.ServiceName,
  csr: required(65_536),
  attestationData: required(262_144),
});

const instanceIdentity = {
  provider: names.ProviderName,
  name: names.EntityName,
  instanceId: names.PathElement,
  x509Certificate: text.optional(),
  x509CertificateSigner: text.optional(),
  sshCertificate: text.optional(),
  sshCertificateSigner: text.optional(),
  attributes: z.record(text, text).optional(),
};
/** The answer to a registration (docs/reference/certificates.md#instances). */
export const instanceIdentityShape = z.strictObject(instanceIdentity);
/** The same in the profile `athenz`, with what a request may ask for beside it. */
export const athenzInstanceIdentityShape = z.strictObject({
  ...instanceIdentity,
  serviceToken: text.optional(),
  athenzJWK: z.looseObject({ modified: names.Timestamp }).optional(),
});
export const identityShape = z.strictObject({ name: names.EntityName, certificate: text, caCertBundle: text });
export const joinTokenShape = z.strictObject({
  provider: names.ProviderName,
  domain: names.DomainName,
  service: names.ServiceName,
  attestationData: text,
  attributes: z.record(text, text),
});
export const roleTokenShape = z.strictObject({ token: text, expiryTime: z.int() });
export const roleCertificateShape = z.strictObject({ x509Certificate: text });
export const authoritiesShape = z.strictObject({ name: text, certs: text });
export const sshCertificatesShape = z.strictObject({
  certificates: z.array(z.strictObject({ certificate: text })),
  certificateSigner: text,
});
const loginMetadataShape = z.strictObject({
  issuers: z.array(z.strictObject({ issuer: text, clientId: text, scopes: z.array(text) })),
});
const revokedShape = z.strictObject({ revoked: z.int().meta({ minimum: 0 }) });

/** Revocation list, which caches may keep. */
function list(types: readonly string[], isNegotiated: boolean): Record<200 | 304, OperationAnswer> {
  return {
    200: { says: 'the list', types, headers: { ETag: 'always', ...(isNegotiated && { Vary: 'always' }) } },
    304: { says: 'not modified: the copy of the caller is current' },
  };
}

const crl = list(['application/pkix-crl', 'application/x-pem-file'], true);
const format: Parameter = {
  says: 'format of the list (default: by `Accept`, otherwise DER)',
  schema: z.enum(['der', 'pem']),
};

/** Operations for any verifier of certificates: the authorities, and revocation lists. */
function authorityOperations(base: string, tag: string): readonly Operation[] {
  return [
    {
      id: 'CertificateAuthorityBundle',
      method: 'get',
      path: `${base}/cacerts/{name}`,
      tag,
      summary: 'Returns authority certificates: `roots` to trust, the `issuers` below them, or both as `chain`',
      inPath: { name: z.enum(['roots', 'issuers', 'chain']) },
      answers: cached(authoritiesShape, 'the certificates in PEM'),
      failures: [404],
    },
    {
      id: 'RevocationList',
      method: 'get',
      path: `${base}/crl`,
      tag,
      summary: 'Returns the revocation list of the first active issuer (RFC 5280 §5)',
      query: { format },
      answers: crl,
      failures: [404, 503],
    },
    {
      id: 'RevocationListOfIssuer',
      method: 'get',
      path: `${base}/crl/{issuer}`,
      tag,
      summary: 'Returns the revocation list of an issuer or a root, or all lists',
      description:
        'An issuer or root is named by its subject key identifier in hexadecimal. `chain`: the lists of all, one after the other, always PEM.',
      inPath: { issuer: text.meta({ pattern: '^(?:[0-9a-f]+|chain)$' }) },
      query: { format },
      answers: crl,
      failures: [404, 503],
    },
  ];
}

function instanceOperations(base: string, tag: string, identity: z.ZodType): readonly Operation[] {
  const path = `${base}/instance/{provider}/{domain}/{service}/{instanceId}`;
  const failures = [403, 404, 503] as const;
  return [
    {
      id: 'InstanceRegister',
      asksProvider: true,
      method: 'post',
      path: `${base}/instance`,
      tag,
      summary: 'Registers an instance with its attestation data',
      body: registerInformation,
      isAttested: true,
      answers: { 201: { says: 'the issued identity', schema: identity, headers: { Location: 'always' } } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'InstanceRefresh',
      asksProvider: true,
      method: 'post',
      path,
      tag,
      summary: 'Renews the certificate of an instance',
      body: refreshSchema,
      answers: { 200: { says: 'the issued identity', schema: identity } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'InstanceDelete',
      method: 'delete',
      path,
      tag,
      summary: 'Deletes an instance, which can no longer refresh its certificate',
      answers: { 204: { says: 'deleted' } },
      failures,
    },
    {
      id: 'InstanceRegisterToken',
      method: 'get',
      path: `${path}/token`,
      tag,
      summary: 'Issues a join token for the registration of an instance',
      answers: { 200: { says: 'the join token', schema: joinTokenShape } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'IdentityRefresh',
      method: 'post',
      path: `${base}/instance/{domain}/{service}/refresh`,
      tag,
      summary: 'Renews the certificate of a service with a registered key',
      body: serviceRequest,
      answers: { 200: { says: 'the issued identity', schema: identityShape } },
      failures: [403, 404, 409, 503],
    },
  ];
}

/** Operations by which people get certificates on the word of an OpenID Connect issuer. */
function loginOperations(base: string, tag: string): readonly Operation[] {
  const path = loginPath(base);
  return [
    {
      id: 'LoginMetadata',
      method: 'get',
      path,
      tag,
      summary: 'Lists the OpenID Connect issuers for logins',
      isAttested: true,
      answers: cached(loginMetadataShape, 'the issuers, each with its client ID'),
      failures: [],
    },
    {
      id: 'Login',
      method: 'post',
      path,
      tag,
      summary: 'Issues a short-lived certificate for a person with an ID token',
      description:
        'The nonce of the ID token is made of the key of the request and of `salt` (docs/reference/certificates.md#login), so that the token cannot be used with another key.',
      body: loginRequest,
      isAttested: true,
      answers: { 200: { says: 'the issued identity', schema: identityShape } },
      failures: [403, 409, 503],
    },
  ];
}

/** Certificates of instances, services and roles, of the authorities, and those revoked. */
export function identityOperations(base: string, hasServiceTokens: boolean): readonly Operation[] {
  const tag = 'certificates';
  const failures = [403, 404, 409, 503] as const;
  return [
    ...instanceOperations(base, tag, hasServiceTokens ? athenzInstanceIdentityShape : instanceIdentityShape),
    {
      id: 'RoleCertificate',
      method: 'post',
      path: `${base}/domain/{domainName}/role/{roleName}/token`,
      tag,
      summary: 'Issues a role certificate for a role of the caller',
      body: roleRequest,
      answers: { 200: { says: 'the certificate and its expiry', schema: roleTokenShape } },
      failures,
    },
    {
      id: 'RoleCertificateExt',
      method: 'post',
      path: `${base}/rolecert`,
      tag,
      summary: 'Issues a role certificate for the role in the certificate signing request',
      body: roleRequest,
      answers: { 200: { says: 'the certificate', schema: roleCertificateShape } },
      failures,
    },
    {
      id: 'PrincipalCertificate',
      method: 'post',
      path: `${base}/principal/{principal}/certificate`,
      tag,
      summary: 'Issues a certificate for a person or a service; system operators only',
      inPath: { principal: names.ProviderName.meta({ description: '`user.<name>`, or a service `domain.service`' }) },
      body: principalRequest,
      answers: { 200: { says: 'the issued identity', schema: identityShape } },
      failures: [403, 409, 503],
    },
    ...loginOperations(base, tag),
    ...authorityOperations(base, tag),
  ];
}

/** SSH certificates, and those revoked. */
export function sshOperations(base: string): readonly Operation[] {
  const tag = 'certificates';
  return [
    {
      id: 'SSHCertificate',
      method: 'post',
      path: `${base}/sshcert`,
      tag,
      summary: 'An SSH certificate',
      body: sshRequest,
      answers: { 201: { says: 'the certificate and its issuer', schema: sshCertificatesShape } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'SSHCertificateRevoke',
      method: 'post',
      path: `${base}/sshcert/revoke`,
      tag,
      summary: 'Revokes SSH certificates by serial number or key id',
      body: sshRevocation,
      answers: { 200: { says: 'number of revoked certificates', schema: revokedShape } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'SSHRevocationList',
      method: 'get',
      path: `${base}/sshcert/krl`,
      tag,
      summary: 'Returns revoked SSH certificates in the format of `RevokedKeys` of sshd',
      answers: list(['application/octet-stream'], false),
      failures: [503],
    },
  ];
}
