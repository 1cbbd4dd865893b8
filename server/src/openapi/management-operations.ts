import { z } from 'zod';
import {
  assertionSchema,
  domainFieldsSchema,
  groupSchema,
  limitsSchema,
  memberFieldsSchema,
  policySchema,
  quotasSchema,
  roleSchema,
} from '../management/documents/document-schema.ts';
import { accountSchema, newDomainSchema } from '../management/edits/edit-domains.ts';
import { activeSchema } from '../management/edits/edit-policies.ts';
import { keySchema, serviceFieldsSchema } from '../management/edits/edit-services.ts';
import * as shapes from './management-shapes.ts';
import { type Method, type Operation, pageOf } from './operation.ts';

const base = '/management/v1';
const domain = `${base}/domains/{domainName}`;
function read(path: string, summary: string, schema: z.ZodType): Operation {
  return { method: 'get', path, summary, form: 'view', answers: { 200: { says: 'as it is', schema } } };
}

function list(path: string, summary: string, item: z.ZodType, query: Readonly<Record<string, string>> = {}): Operation {
  const answers = { 200: { says: 'a page of the list', schema: pageOf(item) } };
  return { method: 'get', path, summary, query, form: 'list', answers };
}

/** What a change takes, and what it answers. */
interface ChangeShapes {
  readonly body: z.ZodType;
  readonly view: z.ZodType;
}

function write(method: Method, path: string, summary: string, { body, view }: ChangeShapes): Operation {
  const schema = z.union([view, shapes.previewShape]);
  const answers = {
    200: { says: 'as it is now, or what a dry run found', schema },
    201: { says: 'it was made', schema: view },
  };
  return { method, path, summary, body, form: 'change', answers };
}

/** `view`: what is left of the thing that it was a part of. */
function remove(path: string, summary: string, view?: z.ZodType): Operation {
  const schema = view === undefined ? shapes.previewShape : z.union([view, shapes.previewShape]);
  const answers = { 200: { says: 'what is left, or what a dry run found', schema }, 204: { says: 'it is gone' } };
  return { method: 'delete', path, summary, form: 'change', answers };
}

const domains: readonly Operation[] = [
  list(`${base}/domains`, 'Lists the domains that the caller may look at', z.string()),
  write('post', `${base}/domains`, 'Makes a domain', { body: newDomainSchema, view: shapes.domainShape }),
  read(domain, 'What a domain says of itself', shapes.domainShape),
  write('put', domain, 'Changes what a domain says of itself', { body: domainFieldsSchema, view: shapes.domainShape }),
  remove(domain, 'Deletes a disabled domain that no other one needs'),
  read(`${domain}/limits`, 'The longest lifetimes that it allows, in seconds', limitsSchema),
  write('put', `${domain}/limits`, 'Sets the longest lifetimes', { body: limitsSchema, view: limitsSchema }),
  read(`${domain}/quotas`, 'How many of each it may have', shapes.quotasShape),
  write('put', `${domain}/quotas`, 'Sets its own quotas; for system operators', {
    body: quotasSchema,
    view: shapes.quotasShape,
  }),
  read(`${domain}/accounts/aws`, 'Its AWS account', shapes.accountShape),
  write('put', `${domain}/accounts/aws`, 'Sets it; for system operators', {
    body: accountSchema,
    view: shapes.accountShape,
  }),
  remove(`${domain}/accounts/aws`, 'Removes it; for system operators'),
  list(
    `${domain}/changes`,
    'What was changed in the domain since it was made, newest first; of what the caller may not look at only the names',
    shapes.changeShape,
  ),
  list(`${domain}/instances`, 'Registered instances', shapes.instanceShape, { service: 'only of this service' }),
];

function memberLists(kind: 'role' | 'group', body: z.ZodType, view: z.ZodType): readonly Operation[] {
  const one = `${domain}/${kind}s/{name}`;
  const member = `${one}/members/{member}`;
  return [
    list(`${domain}/${kind}s`, `Lists the ${kind}s of the domain`, z.string()),
    read(one, `A ${kind} with its members`, view),
    write('put', one, `Makes or changes a ${kind}; members stay where the body names none`, { body, view }),
    remove(one, `Deletes a ${kind}`),
    list(`${one}/members`, `Lists the members of a ${kind}`, shapes.memberShape),
    read(member, 'A member', shapes.memberShape),
    write('put', member, 'Adds a member, or changes until when it counts', {
      body: memberFieldsSchema,
      view: shapes.memberShape,
    }),
    remove(member, 'Removes a member'),
    list(`${one}/changes`, `What was changed in a ${kind}, newest first`, shapes.objectChangeShape),
  ];
}

const policy = `${domain}/policies/{name}`;
const version = `${policy}/versions/{version}`;
const assertions = z.array(assertionSchema);
const policies: readonly Operation[] = [
  list(`${domain}/policies`, 'Lists the policies of the domain', z.string()),
  read(policy, 'A policy with all its versions', shapes.policyShape),
  write('put', policy, 'Makes or replaces a policy', { body: policySchema, view: shapes.policyShape }),
  remove(policy, 'Deletes a policy'),
  write('put', `${policy}/active`, 'Makes another version the active one', {
    body: activeSchema,
    view: shapes.policyShape,
  }),
  write('put', version, 'Makes or replaces a version; a new one is not active', {
    body: assertions,
    view: shapes.policyShape,
  }),
  remove(version, 'Deletes a version that is not the active one', shapes.policyShape),
  write('post', `${version}/assertions`, 'Adds an assertion', { body: assertionSchema, view: shapes.policyShape }),
  remove(`${version}/assertions/{id}`, 'Removes an assertion', shapes.policyShape),
  list(`${policy}/changes`, 'What was changed in a policy, newest first', shapes.objectChangeShape),
];

const service = `${domain}/services/{name}`;
const services: readonly Operation[] = [
  list(`${domain}/services`, 'Lists the services of the domain', z.string()),
  read(service, 'A service with its public keys', shapes.serviceShape),
  write('put', service, 'Makes or changes a service; its keys stay', {
    body: serviceFieldsSchema,
    view: shapes.serviceShape,
  }),
  remove(service, 'Deletes a service'),
  read(`${service}/keys/{keyId}`, 'A public key', shapes.keyShape),
  write('put', `${service}/keys/{keyId}`, 'Registers a public key', { body: keySchema, view: shapes.keyShape }),
  remove(`${service}/keys/{keyId}`, 'Removes a public key'),
  list(`${service}/changes`, 'What was changed in a service, newest first', shapes.objectChangeShape),
];

const records: readonly Operation[] = [
  list(`${base}/changes`, 'What was changed anywhere, newest first; for system operators', shapes.changeShape),
  list(`${base}/reviews`, 'Members whose review is due, the oldest first', shapes.reviewShape, {
    before: 'due by then, e.g. `2027-01-01T00:00:00Z` (default: now)',
    domain: 'only of this domain',
  }),
  list(`${base}/search`, 'Where a principal, resource or action is found', shapes.searchHitShape, {
    member: 'a principal, group or pattern',
    resource: '`domain:entity`, or an entity of any domain',
    action: 'an action',
  }),
];

/** Every operation of the management API but the access checks, which are those of the token server. */
export const managementOperations: readonly Operation[] = [
  ...domains,
  ...memberLists('role', roleSchema, shapes.roleShape),
  ...memberLists('group', groupSchema, shapes.groupShape),
  ...policies,
  ...services,
  ...records,
];
