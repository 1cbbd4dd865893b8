import { z } from 'zod';
import { requestSchema } from '../routes/access-checks-route.ts';
import { names, pathParameters } from './names.ts';
import { type Operation, type Parameter, resourceError } from './operation.ts';

export const accessShape = z.strictObject({ granted: z.boolean() });
export const roleAccessShape = z.strictObject({ roles: z.array(names.EntityName) });

const asking: Readonly<Record<string, Parameter>> = {
  principal: { says: 'principal to check (default: the caller)', schema: names.EntityName },
  domain: { says: 'for `assume_role`: domain whose policy is evaluated', schema: names.DomainName },
  thumbprint: {
    says: 'thumbprint of the certificate of the principal; access is not granted if it was revoked',
    schema: names.Thumbprint,
  },
};
const resource: Parameter = {
  says: '`domain:entity`',
  schema: pathParameters['resource'] ?? z.string(),
  required: true,
};
const granted = { 200: { says: 'whether the access is granted', schema: accessShape } };
const failures = [403, 404] as const;

/** The two forms of the access check, which the management API has as well; `prefix` tells their ids apart. */
export function accessChecks(at: string, tag: string, prefix = ''): readonly Operation[] {
  const summary = 'Checks whether a principal may do an action on a resource';
  return [
    {
      id: `${prefix}Access`,
      method: 'get',
      path: `${at}/access/{action}`,
      tag,
      summary,
      query: { resource, ...asking },
      answers: granted,
      failures,
    },
    {
      id: `${prefix}AccessExt`,
      method: 'get',
      path: `${at}/access/{action}/{resource}`,
      tag,
      summary: `${summary}, which the path names`,
      query: asking,
      answers: granted,
      failures,
    },
  ];
}

export const answersShape = z.strictObject({
  answers: z.array(z.strictObject({ granted: z.boolean(), error: resourceError.optional() })),
});

/** Many access checks at once, which the token server alone has. */
export function bulkAccessCheck(base: string, tag: string): Operation {
  return {
    id: 'AccessChecks',
    method: 'post',
    path: `${base}/access-checks`,
    tag,
    summary: 'Checks access for several questions',
    body: requestSchema,
    answers: { 200: { says: 'one answer per question, in the same order', schema: answersShape } },
    failures: [403, 415],
  };
}

/** Operations on the roles of principals at the token server. */
export function roleChecks(base: string, tag: string): readonly Operation[] {
  return [
    {
      id: 'RoleAccess',
      method: 'get',
      path: `${base}/access/domain/{domainName}/principal/{principal}`,
      tag,
      summary: 'Lists the roles of a principal in a domain',
      answers: { 200: { says: 'the roles', schema: roleAccessShape } },
      failures,
    },
    {
      id: 'RoleCheckAccess',
      method: 'get',
      path: `${base}/access/domain/{domainName}/role/{roleName}/principal/{principal}`,
      tag,
      summary: 'Checks whether a principal is in a role',
      answers: granted,
      failures,
    },
  ];
}
