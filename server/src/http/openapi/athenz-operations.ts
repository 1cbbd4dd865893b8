import { z } from 'zod';
import { authoritiesShape, roleTokenShape } from './identity-operations.ts';
import { names } from './names.ts';
import type { Operation } from './operation.ts';
import { bundleFailures } from './token-operations.ts';

const text = z.string();
const seconds = z.int().meta({ minimum: 0 });
const namesShape = z.strictObject({ names: z.array(text) });
const statusShape = z.strictObject({ code: z.int(), message: text });
const hostServicesShape = z.strictObject({ host: text, names: z.array(text) });
const tenantsShape = z.strictObject({ tenantDomainNames: z.array(names.DomainName) });
const rolesShape = z.strictObject({ roles: z.array(text) });
const serviceIdentityShape = z.strictObject({
  name: names.EntityName,
  publicKeys: z.array(z.strictObject({ key: text, id: text })),
  providerEndpoint: text.optional(),
  modified: names.Timestamp,
  hosts: z.array(text),
});
const idTokenShape = z.strictObject({
  version: z.int(),
  id_token: text,
  token_type: text,
  success: z.boolean(),
  expiration_time: z.int(),
});
const signedPolicyDataShape = z.looseObject({ signedPolicyData: z.looseObject({}), signature: text, keyId: text });

/** Look-ups of Athenz clients. */
function directoryOperations(base: string, tag: string): readonly Operation[] {
  return [
    {
      id: 'ServiceIdentityList',
      method: 'get',
      path: `${base}/domain/{domainName}/service`,
      tag,
      summary: 'Lists the names of the services of a domain',
      answers: { 200: { says: 'the names', schema: namesShape } },
      failures: [404],
    },
    {
      id: 'ServiceIdentity',
      method: 'get',
      path: `${base}/domain/{domainName}/service/{serviceName}`,
      tag,
      summary: 'Returns a service with its keys',
      answers: { 200: { says: 'the service', schema: serviceIdentityShape } },
      failures: [404],
    },
    {
      id: 'HostServices',
      method: 'get',
      path: `${base}/host/{host}/services`,
      tag,
      summary: 'Lists the services registered on a host',
      inPath: { host: text },
      answers: { 200: { says: 'their names', schema: hostServicesShape } },
      failures: [],
    },
    {
      id: 'TenantDomains',
      method: 'get',
      path: `${base}/providerdomain/{provider}/user/{user}`,
      tag,
      summary: 'Lists the tenant domains of a provider for a user',
      inPath: { provider: names.DomainName, user: names.EntityName },
      answers: { 200: { says: 'their domains', schema: tenantsShape } },
      failures: [404],
    },
    {
      id: 'RolesRequireRoleCert',
      method: 'get',
      path: `${base}/role/cert`,
      tag,
      summary: 'Lists the roles that require a role certificate; always empty',
      query: { principal: { says: 'principal (default: the caller)', schema: names.EntityName } },
      answers: { 200: { says: 'the roles', schema: rolesShape } },
      failures: [],
    },
    {
      id: 'Status',
      method: 'get',
      path: `${base}/status`,
      tag,
      summary: 'Reports that the server responds',
      answers: { 200: { says: 'the server responds', schema: statusShape } },
      failures: [],
    },
  ];
}

function tokensOf(base: string, tag: string): readonly Operation[] {
  return [
    {
      id: 'RoleToken',
      method: 'get',
      path: `${base}/domain/{domainName}/token`,
      tag,
      summary: 'Issues a role token',
      query: {
        role: { says: 'comma-separated names of roles (default: all)', schema: text },
        minExpiryTime: { says: 'minimum lifetime in seconds', schema: seconds },
        maxExpiryTime: { says: 'maximum lifetime in seconds', schema: seconds },
        proxyForPrincipal: { says: 'not supported: tokens are issued to their holder only', schema: text },
      },
      answers: { 200: { says: 'the token', schema: roleTokenShape } },
      failures: [403, 404, 503],
    },
    {
      id: 'OIDCResponse',
      method: 'get',
      path: `${base}/oauth2/auth`,
      tag,
      summary: 'Issues an ID token, as JSON or by redirect to its service',
      query: {
        response_type: { says: 'type of the response', schema: z.literal('id_token'), required: true },
        client_id: { says: 'service that is the audience of the token', schema: names.EntityName, required: true },
        redirect_uri: { says: 'redirect URI for the token, unless `output` is `json`', schema: text },
        scope: { says: '`openid`, and which roles or groups to name', schema: text, required: true },
        state: { says: 'returned unchanged', schema: text },
        nonce: { says: 'nonce, included in the token', schema: text.meta({ minLength: 1 }), required: true },
        expiryTime: { says: 'maximum lifetime in seconds', schema: seconds },
        fullArn: { says: 'whether the token has full names of roles and groups', schema: z.boolean() },
        output: { says: '`json`: return the token in the body', schema: text },
        allScopePresent: { says: 'whether the principal must hold every named role and group', schema: z.boolean() },
      },
      answers: {
        200: { says: 'the token', schema: idTokenShape },
        302: { says: 'the token is in the fragment of `Location`', headers: { Location: 'always' } },
      },
      failures: [403, 404, 503],
    },
  ];
}

/** The operations that only the profile `athenz` has (docs/reference/athenz.md). */
export function athenzOperations(base: string, hasIdentity: boolean): readonly Operation[] {
  const tag = 'athenz';
  const authorities: Operation = {
    id: 'AthenzAuthorityBundle',
    method: 'get',
    path: `${base}/cacerts/athenz`,
    tag,
    summary: 'Returns the root certificates under the name that agents use',
    answers: { 200: { says: 'the certificates in PEM', schema: authoritiesShape } },
    failures: [],
  };
  return [
    ...tokensOf(base, tag),
    {
      id: 'Introspect',
      method: 'post',
      path: `${base}/oauth2/introspect`,
      tag,
      summary: 'Not supported: introspection always returns 400',
      body: z.object({ token: text.optional() }),
      bodyType: 'application/x-www-form-urlencoded',
      answers: {},
      failures: [],
    },
    {
      id: 'DomainSignedPolicyData',
      method: 'get',
      path: `${base}/domain/{domainName}/signed_policy_data`,
      tag,
      summary: 'Returns the signed policy of a domain in the older form',
      answers: {
        200: { says: 'the policy', schema: signedPolicyDataShape, headers: { ETag: 'always' } },
        304: { says: 'not modified: the copy of the caller is current' },
      },
      failures: bundleFailures,
    },
    ...directoryOperations(base, tag),
    ...(hasIdentity ? [authorities] : []),
  ];
}
