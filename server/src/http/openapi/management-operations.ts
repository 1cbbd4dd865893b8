import { maxNameLength } from '@signet/policy-engine/names';
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
} from '../../management/documents/document-schema.ts';
import { accountSchema, newDomainSchema } from '../../management/edits/edit-domains.ts';
import { activeSchema } from '../../management/edits/edit-policies.ts';
import { keySchema, serviceFieldsSchema } from '../../management/edits/edit-services.ts';
import { type ObjectOperationId, objectOperations } from '../../management/edits/object-operations.ts';
import { managementPath as base } from '../management/index.ts';
import { accessChecks } from './access-operations.ts';
import { documentOperations } from './document-operations.ts';
import * as shapes from './management-shapes.ts';
import { names } from './names.ts';
import { type AnswerHeaders, type Operation, type Parameter, pageOf } from './operation.ts';
import { questions } from './question-operations.ts';
import { requestOperations, requestStored } from './request-operations.ts';

const domain = `${base}/domains/{domainName}`;
const tag = 'management';

/** Leading cells of an operation's row. */
type Row = readonly [id: string, path: string, summary: string];
/** The same of one that is described by `objectOperations`. */
type ObjectRow = readonly [id: ObjectOperationId, summary: string];

/** Id, method, path and summary of an operation on a domain or one of its objects. */
function placed([id, summary]: ObjectRow) {
  const { method, path } = objectOperations[id];
  return { id, method, path: `${domain}${path}`, tag, summary };
}

const tagged: AnswerHeaders = { ETag: 'always' };

/** Failures of an operation without those about names that its path does not have. */
function failuresAt(path: string, ...others: readonly Operation['failures'][number][]): Operation['failures'] {
  return [403, ...(path.includes('{') ? ([404] as const) : []), ...others, 503];
}

function read([id, path, summary]: Row, schema: z.ZodType): Operation {
  const answers = { 200: { says: 'the object', schema, headers: tagged } };
  return { id, method: 'get', path, tag, summary, form: 'view', answers, failures: failuresAt(path) };
}

/** `GET` of an object. */
function get(row: ObjectRow, schema: z.ZodType): Operation {
  const [id, summary] = row;
  return read([id, placed(row).path, summary], schema);
}

function list([id, path, summary]: Row, item: z.ZodType, query: Readonly<Record<string, Parameter>> = {}): Operation {
  const answers = { 200: { says: 'a page of the list', schema: pageOf(item), headers: tagged } };
  return { id, method: 'get', path, tag, summary, query, form: 'list', answers, failures: failuresAt(path) };
}

/** Filters of changes. With them a page may hold fewer items than exist, and none, before the last one. */
const changeFilters: Readonly<Record<string, Parameter>> = {
  actor: { says: 'only changes by this principal', schema: z.string() },
  since: { says: 'only from this time on', schema: names.Timestamp },
  until: { says: 'only before this time', schema: names.Timestamp },
  after: { says: 'only records after the record with this ID, oldest first', schema: z.int().meta({ minimum: 0 }) },
  about: {
    says: 'only records by, of or about this name: its own changes, its certificates, its entries in roles and groups',
    schema: z.string().meta({ maxLength: maxNameLength }),
  },
};

/** Shapes of a change: its body and its answer. */
interface ChangeShapes {
  readonly body: z.ZodType;
  readonly view: z.ZodType;
}

const warned: AnswerHeaders = { ETag: 'always', 'Signet-Warning': 'sometimes' };
const perhapsTagged: AnswerHeaders = { ETag: 'sometimes', 'Signet-Warning': 'sometimes' };

function write(row: ObjectRow, shapes: ChangeShapes): Operation {
  return change(placed(row), shapes);
}

function change(
  place: Pick<Operation, 'id' | 'method' | 'path' | 'tag' | 'summary'>,
  { body, view }: ChangeShapes,
  made: AnswerHeaders = {},
): Operation {
  const schema = z.union([view, shapes.previewShape]);
  const answers = {
    200: { says: 'the object after the change, or the preview of a dry run', schema, headers: perhapsTagged },
    201: { says: 'created', schema: view, headers: { ...warned, ...made } },
    202: requestStored,
  };
  return { ...place, body, form: 'change', answers, failures: failuresAt(place.path, 409) };
}

/** `view`: what is left of the thing that it was a part of. */
function remove(row: ObjectRow, view?: z.ZodType): Operation {
  return removal(placed(row), view);
}

function removal(place: Pick<Operation, 'id' | 'path' | 'tag' | 'summary'>, view?: z.ZodType): Operation {
  const schema = view === undefined ? shapes.previewShape : z.union([view, shapes.previewShape]);
  const answers = {
    200: { says: 'the remaining object, or the preview of a dry run', schema, headers: perhapsTagged },
    202: requestStored,
    204: { says: 'deleted', headers: { 'Signet-Warning': 'sometimes' } as const },
  };
  return { ...place, method: 'delete', form: 'change', answers, failures: failuresAt(place.path, 409) };
}

const domains: readonly Operation[] = [
  list(['ListDomains', `${base}/domains`, 'Lists the domains that the caller may view'], names.DomainName),
  change(
    { id: 'CreateDomain', method: 'post', path: `${base}/domains`, tag, summary: 'Creates a domain' },
    { body: newDomainSchema, view: shapes.domainShape },
    { Location: 'always' },
  ),
  read(['GetDomain', domain, 'Returns the attributes of a domain'], shapes.domainShape),
  write(['PutDomain', 'Sets the attributes of a domain'], {
    body: domainFieldsSchema,
    view: shapes.domainShape,
  }),
  removal({
    id: 'DeleteDomain',
    path: domain,
    tag,
    summary: 'Deletes a disabled domain without references from other domains',
  }),
  read(['GetLimits', `${domain}/limits`, 'Returns the maximum lifetimes of a domain, in seconds'], limitsSchema),
  write(['PutLimits', 'Sets the maximum lifetimes of a domain'], {
    body: limitsSchema,
    view: limitsSchema,
  }),
  read(['GetQuotas', `${domain}/quotas`, 'Returns the quotas of a domain'], shapes.quotasShape),
  write(['PutQuotas', 'Sets the quotas of a domain; system operators only'], {
    body: quotasSchema,
    view: shapes.quotasShape,
  }),
  read(['GetAwsAccount', `${domain}/accounts/aws`, 'Its AWS account'], shapes.accountShape),
  write(['PutAwsAccount', 'Sets the AWS account of a domain; system operators only'], {
    body: accountSchema,
    view: shapes.accountShape,
  }),
  remove(['DeleteAwsAccount', 'Removes the AWS account of a domain; system operators only']),
  list(
    [
      'ListDomainChanges',
      `${domain}/changes`,
      'Lists changes of the domain since it was created, newest first; objects that the caller may not view have names only',
    ],
    shapes.changeShape,
    changeFilters,
  ),
  list(['ListInstances', `${domain}/instances`, 'Lists registered instances'], shapes.instanceShape, {
    service: { says: 'only this service', schema: names.ServiceName },
  }),
];

function memberLists(kind: 'role' | 'group', body: z.ZodType, view: z.ZodObject): readonly Operation[] {
  const one = `${domain}/${kind}s/{name}`;
  const Kind = kind === 'role' ? 'Role' : 'Group';
  return [
    list([`List${Kind}s`, `${domain}/${kind}s`, `Lists the ${kind}s of the domain`], names.EntityName),
    list(
      [`List${Kind}Details`, `${domain}/${kind}-details`, `Lists the ${kind}s of the domain with their first members`],
      shapes.detailsOf(view),
      { name: { says: `only this ${kind}`, schema: names.EntityName } },
    ),
    get([`Get${Kind}`, `Returns a ${kind} with its members`], view),
    write([`Put${Kind}`, `Creates or changes a ${kind}; members stay unchanged if the body has none`], {
      body,
      view,
    }),
    remove([`Delete${Kind}`, `Deletes a ${kind}`]),
    list([`List${Kind}Members`, `${one}/members`, `Lists the members of a ${kind}`], shapes.memberShape),
    get([`Get${Kind}Member`, `Returns a member of a ${kind}`], shapes.memberShape),
    write([`Put${Kind}Member`, `Adds a member to a ${kind}, or changes its expiry, review time and state`], {
      body: memberFieldsSchema,
      view: shapes.memberShape,
    }),
    remove([`Delete${Kind}Member`, `Removes a member from a ${kind}`]),
    list(
      [`List${Kind}Changes`, `${one}/changes`, `Lists changes of a ${kind}, newest first`],
      shapes.objectChangeShape,
    ),
  ];
}

const policy = `${domain}/policies/{name}`;
const assertions = z.array(assertionSchema);
const policies: readonly Operation[] = [
  list(['ListPolicies', `${domain}/policies`, 'Lists the policies of the domain'], names.EntityName),
  get(['GetPolicy', 'Returns a policy with all its versions'], shapes.policyShape),
  write(['PutPolicy', 'Creates or replaces a policy'], { body: policySchema, view: shapes.policyShape }),
  remove(['DeletePolicy', 'Deletes a policy']),
  write(['PutActiveVersion', 'Makes a version the active one'], {
    body: activeSchema,
    view: shapes.policyShape,
  }),
  write(['PutPolicyVersion', 'Creates or replaces a version; a new one is not active'], {
    body: assertions,
    view: shapes.policyShape,
  }),
  remove(['DeletePolicyVersion', 'Deletes an inactive version'], shapes.policyShape),
  write(['AddAssertion', 'Adds an assertion'], {
    body: assertionSchema,
    view: shapes.policyShape,
  }),
  remove(['DeleteAssertion', 'Removes an assertion'], shapes.policyShape),
  list(['ListPolicyChanges', `${policy}/changes`, 'Lists changes of a policy, newest first'], shapes.objectChangeShape),
].map((operation) => ({ ...operation, inPath: { version: shapes.versionName, id: z.int().meta({ minimum: 1 }) } }));

const service = `${domain}/services/{name}`;
const services: readonly Operation[] = [
  list(['ListServices', `${domain}/services`, 'Lists the services of the domain'], names.ServiceName),
  get(['GetService', 'Returns a service with its public keys'], shapes.serviceShape),
  write(['PutService', 'Creates or changes a service; its keys stay'], {
    body: serviceFieldsSchema,
    view: shapes.serviceShape,
  }),
  remove(['DeleteService', 'Deletes a service']),
  get(['GetServiceKey', 'Returns a public key of a service'], shapes.keyShape),
  write(['PutServiceKey', 'Registers a public key'], { body: keySchema, view: shapes.keyShape }),
  remove(['DeleteServiceKey', 'Removes a public key']),
  list(
    ['ListServiceChanges', `${service}/changes`, 'Lists changes of a service, newest first'],
    shapes.objectChangeShape,
  ),
].map((operation) => ({ ...operation, inPath: { name: names.ServiceName } }));

const records: readonly Operation[] = [
  list(
    ['ListChanges', `${base}/changes`, 'Lists changes of all domains, newest first; system operators only'],
    shapes.changeShape,
    {
      ...changeFilters,
      subject: { says: 'only records of this domain, key, certificate or principal', schema: z.string() },
    },
  ),
  list(['ListReviews', `${base}/reviews`, 'Lists memberships due for review, oldest first'], shapes.reviewShape, {
    before: { says: 'due by this time (default: now)', schema: names.Timestamp },
    domain: { says: 'only this domain', schema: names.DomainName },
  }),
  list(
    ['ListAccess', `${base}/access`, 'Lists the access of a principal: the assertions about its roles'],
    shapes.accessEntryShape,
    {
      principal: { says: 'principal to check (default: the caller)', schema: names.EntityName },
      action: { says: 'only this action', schema: names.ActionName },
      domain: { says: 'only this domain', schema: names.DomainName },
    },
  ),
  list(
    ['Search', `${base}/search`, 'Finds the objects that name a principal, resource or action'],
    shapes.searchHitShape,
    {
      member: { says: 'a principal, group or pattern', schema: z.string() },
      resource: { says: '`domain:entity`, or an entity of any domain; at most 4096 characters', schema: z.string() },
      action: { says: 'action; at most 256 characters', schema: z.string() },
    },
  ),
];

/** Every operation of the management API. */
export const managementOperations: readonly Operation[] = [
  ...domains,
  ...memberLists('role', roleSchema, shapes.roleShape),
  ...memberLists('group', groupSchema, shapes.groupShape),
  ...policies,
  ...services,
  ...records,
  ...documentOperations(base, tag),
  ...requestOperations(base, tag),
  ...questions(base, tag),
  ...accessChecks(base, tag, 'Management'),
];
