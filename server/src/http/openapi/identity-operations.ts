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
    304: { says: 'the caller has it' },
  };
}

const crl = list(['application/pkix-crl', 'application/x-pem-file'], true);
const format: Parameter = { says: 'without it `Accept` decides, and it is DER', schema: z.enum(['der', 'pem']) };

/** Operations for any verifier of certificates: the authorities, and revocation lists. */
function authorityOperations(base: string, tag: string): readonly Operation[] {
  return [
    {
      id: 'CertificateAuthorityBundle',
      method: 'get',
      path: `${base}/cacerts/{name}`,
      tag,
      summary: 'Certificates of the authorities: `roots` to trust, the `issuers` below them, or both as `chain`',
      inPath: { name: z.enum(['roots', 'issuers', 'chain']) },
      answers: cached(authoritiesShape, 'the certificates in PEM'),
      failures: [404],
    },
    {
      id: 'RevocationList',
      method: 'get',
      path: `${base}/crl`,
      tag,
      summary: 'The revocation list of the first active issuer (RFC 5280 §5)',
      query: { format },
      answers: crl,
      failures: [404, 503],
    },
    {
      id: 'RevocationListOfIssuer',
      method: 'get',
      path: `${base}/crl/{issuer}`,
      tag,
      summary: 'The revocation list of an issuer or a root, or those of all',
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
      summary: 'Registers an instance, which shows what it is by its attestation data',
      body: registerInformation,
      isAttested: true,
      answers: { 201: { says: 'its identity', schema: identity, headers: { Location: 'always' } } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'InstanceRefresh',
      asksProvider: true,
      method: 'post',
      path,
      tag,
      summary: 'A new certificate for an instance',
      body: refreshSchema,
      answers: { 200: { says: 'its identity', schema: identity } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'InstanceDelete',
      method: 'delete',
      path,
      tag,
      summary: 'Deletes an instance, which can no longer refresh its certificate',
      answers: { 204: { says: 'it was deleted' } },
      failures,
    },
    {
      id: 'InstanceRegisterToken',
      method: 'get',
      path: `${path}/token`,
      tag,
      summary: 'A join token with which the instance registers',
      answers: { 200: { says: 'what to register with', schema: joinTokenShape } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'IdentityRefresh',
      method: 'post',
      path: `${base}/instance/{domain}/{service}/refresh`,
      tag,
      summary: 'A new certificate for a service that holds a known key',
      body: serviceRequest,
      answers: { 200: { says: 'its identity', schema: identityShape } },
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
      summary: 'The issuers with which people log in',
      isAttested: true,
      answers: cached(loginMetadataShape, 'the issuers, each with the client that it knows'),
      failures: [],
    },
    {
      id: 'Login',
      method: 'post',
      path,
      tag,
      summary: 'A short certificate for a person who shows an ID token',
      description:
        'The nonce of the ID token is made of the key of the request and of `salt` (docs/reference/certificates.md#login), so that the token is worth nothing with another key.',
      body: loginRequest,
      isAttested: true,
      answers: { 200: { says: 'its identity', schema: identityShape } },
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
      summary: 'A certificate for a role that the caller holds',
      body: roleRequest,
      answers: { 200: { says: 'the certificate and its end', schema: roleTokenShape } },
      failures,
    },
    {
      id: 'RoleCertificateExt',
      method: 'post',
      path: `${base}/rolecert`,
      tag,
      summary: 'A certificate for a role that the certificate request names',
      body: roleRequest,
      answers: { 200: { says: 'the certificate', schema: roleCertificateShape } },
      failures,
    },
    {
      id: 'PrincipalCertificate',
      method: 'post',
      path: `${base}/principal/{principal}/certificate`,
      tag,
      summary: 'A certificate for a person or a service that an operator asks for',
      inPath: { principal: names.ProviderName.meta({ description: '`user.<name>`, or a service `domain.service`' }) },
      body: principalRequest,
      answers: { 200: { says: 'its identity', schema: identityShape } },
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
      answers: { 201: { says: 'the certificate and who signed it', schema: sshCertificatesShape } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'SSHCertificateRevoke',
      method: 'post',
      path: `${base}/sshcert/revoke`,
      tag,
      summary: 'Revokes SSH certificates by serial number or key id',
      body: sshRevocation,
      answers: { 200: { says: 'how many were in force', schema: revokedShape } },
      failures: [403, 404, 409, 503],
    },
    {
      id: 'SSHRevocationList',
      method: 'get',
      path: `${base}/sshcert/krl`,
      tag,
      summary: 'Revoked SSH certificates, in the form that `RevokedKeys` of sshd reads',
      answers: list(['application/octet-stream'], false),
      failures: [503],
    },
  ];
}
