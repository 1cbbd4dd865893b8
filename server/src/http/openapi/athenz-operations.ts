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
      summary: 'The names of the services of a domain',
      answers: { 200: { says: 'the names', schema: namesShape } },
      failures: [404],
    },
    {
      id: 'ServiceIdentity',
      method: 'get',
      path: `${base}/domain/{domainName}/service/{serviceName}`,
      tag,
      summary: 'A service with its keys',
      answers: { 200: { says: 'the service', schema: serviceIdentityShape } },
      failures: [404],
    },
    {
      id: 'HostServices',
      method: 'get',
      path: `${base}/host/{host}/services`,
      tag,
      summary: 'The services that are registered with a host',
      inPath: { host: text },
      answers: { 200: { says: 'their names', schema: hostServicesShape } },
      failures: [],
    },
    {
      id: 'TenantDomains',
      method: 'get',
      path: `${base}/providerdomain/{provider}/user/{user}`,
      tag,
      summary: 'The tenants of a provider, by the roles of a user',
      inPath: { provider: names.DomainName, user: names.EntityName },
      answers: { 200: { says: 'their domains', schema: tenantsShape } },
      failures: [404],
    },
    {
      id: 'RolesRequireRoleCert',
      method: 'get',
      path: `${base}/role/cert`,
      tag,
      summary: 'The roles whose members need a role certificate: none',
      query: { principal: { says: 'of whom (default: the caller)', schema: names.EntityName } },
      answers: { 200: { says: 'the roles', schema: rolesShape } },
      failures: [],
    },
    {
      id: 'Status',
      method: 'get',
      path: `${base}/status`,
      tag,
      summary: 'That the server answers',
      answers: { 200: { says: 'it does', schema: statusShape } },
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
      summary: 'A role token',
      query: {
        role: { says: 'names of roles with commas between them (default: all)', schema: text },
        minExpiryTime: { says: 'seconds that the token must be valid', schema: seconds },
        maxExpiryTime: { says: 'seconds that the token may be valid', schema: seconds },
        proxyForPrincipal: { says: 'refused: a token is given to its holder', schema: text },
      },
      answers: { 200: { says: 'the token', schema: roleTokenShape } },
      failures: [403, 404, 503],
    },
    {
      id: 'OIDCResponse',
      method: 'get',
      path: `${base}/oauth2/auth`,
      tag,
      summary: 'An ID token alone, as JSON or on the way to the service that it is for',
      query: {
        response_type: { says: 'what to answer', schema: z.literal('id_token'), required: true },
        client_id: { says: 'the service that the token is for', schema: names.EntityName, required: true },
        redirect_uri: { says: 'where to send the token, unless `output` is `json`', schema: text },
        scope: { says: '`openid`, and which roles or groups to name', schema: text, required: true },
        state: { says: 'sent back as it is', schema: text },
        nonce: { says: 'stands in the token', schema: text.meta({ minLength: 1 }), required: true },
        expiryTime: { says: 'seconds that the token may be valid', schema: seconds },
        fullArn: { says: 'whether roles and groups have their full names', schema: z.boolean() },
        output: { says: '`json`: the token in the body', schema: text },
        allScopePresent: { says: 'whether every role and group named must be held', schema: z.boolean() },
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
    summary: 'The roots under the name that agents ask for',
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
      summary: 'Always 400: introspection is not supported',
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
      summary: 'The signed policy of a domain in the older form',
      answers: {
        200: { says: 'the policy', schema: signedPolicyDataShape, headers: { ETag: 'always' } },
        304: { says: 'the caller has it' },
      },
      failures: bundleFailures,
    },
    ...directoryOperations(base, tag),
    ...(hasIdentity ? [authorities] : []),
  ];
}
