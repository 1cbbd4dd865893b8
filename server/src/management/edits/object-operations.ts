import { parseDomainName, parseKeyId, parsePolicyName, parseServiceName } from '@signet/policy-engine/names';
import type { Quotas } from '../../model/records.ts';
import { deletion } from '../create-domain.ts';
import { type DomainEdit, type DomainOperation, editing } from '../judge-edit.ts';
import type { Right } from '../rights.ts';
import { deleteAccount, putAccount, putDomain, putLimits, putQuotas } from './edit-domains.ts';
import { deleteList, deleteMember, type MemberList, parseMemberList, putList, putMember } from './edit-member-lists.ts';
import {
  addAssertion,
  deleteAssertion,
  deletePolicy,
  deleteVersion,
  type PolicyPath,
  putActive,
  putPolicy,
  putVersion,
} from './edit-policies.ts';
import { deleteKey, deleteService, putKey, putService, type ServicePath } from './edit-services.ts';

/** Request for an object: parameters of the path, and the parsed body. */
export interface AskedOfObject {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
  /** Quotas of the server. */
  readonly quotas: Quotas;
}

type Method = 'get' | 'put' | 'post' | 'delete';

/** Object that a path names: the domain, or one of what it has. */
type ObjectKind = 'domain' | 'role' | 'group' | 'policy' | 'service';

/** Right that an operation needs; none: to look at the object. */
interface OperationRight {
  readonly object: ObjectKind;
  readonly right?: Right;
  /** True if only the policy of `sys.auth` grants it. */
  readonly systemOnly?: boolean;
}

/** Operation on a domain or one of its objects: `GET` answers the object of the edit, the others make it. */
export interface ObjectOperation {
  readonly method: Method;
  /** Path below the domain, with its parameters in braces. */
  readonly path: string;
  readonly needs: OperationRight;
  /** Absent for the deletion of a domain. */
  readonly edit?: (asked: AskedOfObject) => DomainEdit;
  readonly operation: (asked: AskedOfObject) => DomainOperation;
}

const domainOf = ({ params }: AskedOfObject) => parseDomainName(params['domainName'], 'domainName');
const listOf = (kind: MemberList['kind'], asked: AskedOfObject) =>
  parseMemberList(kind, domainOf(asked), asked.params['name']);
const memberOf = ({ params }: AskedOfObject) => params['member'] ?? '';
const versionOf = ({ params }: AskedOfObject) => params['version'] ?? '';
const keyOf = ({ params }: AskedOfObject) => parseKeyId(params['keyId'], 'keyId');

function policyOf(asked: AskedOfObject): PolicyPath {
  return { domain: domainOf(asked), name: parsePolicyName(asked.params['name'], 'policyName') };
}

function serviceOf(asked: AskedOfObject): ServicePath {
  return { domain: domainOf(asked), name: parseServiceName(asked.params['name'], 'serviceName') };
}

function at(
  method: Method,
  path: string,
  needs: OperationRight,
  edit: (asked: AskedOfObject) => DomainEdit,
): ObjectOperation {
  return { method, path, needs, edit, operation: (asked) => editing(edit(asked)) };
}

const manageDomain: OperationRight = { right: 'manage_domain', object: 'domain' };
const ofSystem: OperationRight = { ...manageDomain, systemOnly: true };
const managePolicy: OperationRight = { right: 'manage_policies', object: 'policy' };
const manageService: OperationRight = { right: 'manage_services', object: 'service' };
const manageKeys: OperationRight = { right: 'manage_keys', object: 'service' };

/** Operations on roles or groups and their members; the ids end with the kind. */
function ofLists<Kind extends 'Role' | 'Group'>(Kind: Kind, kind: MemberList['kind']) {
  const one = `/${kind}s/{name}`;
  const member = `${one}/members/{member}`;
  const view: OperationRight = { object: kind };
  const manage: OperationRight = { right: 'manage_domain', object: kind };
  const members: OperationRight = { right: 'manage_members', object: kind };
  const removed = (asked: AskedOfObject) => deleteList(listOf(kind, asked));
  const left = (asked: AskedOfObject) => deleteMember(listOf(kind, asked), memberOf(asked));
  return {
    [`Get${Kind}`]: at('get', one, view, removed),
    [`Put${Kind}`]: at('put', one, manage, (asked) => putList(listOf(kind, asked), asked.body)),
    [`Delete${Kind}`]: at('delete', one, manage, removed),
    [`Get${Kind}Member`]: at('get', member, view, left),
    [`Put${Kind}Member`]: at('put', member, members, (asked) =>
      putMember(listOf(kind, asked), memberOf(asked), asked.body),
    ),
    [`Delete${Kind}Member`]: at('delete', member, members, left),
  } as Record<`${'Get' | 'Put' | 'Delete'}${Kind}${'' | 'Member'}`, ObjectOperation>;
}

const policy = '/policies/{name}';
const version = `${policy}/versions/{version}`;
const service = '/services/{name}';
const key = `${service}/keys/{keyId}`;

/**
 * The operations on domains and their objects, by the ids of the OpenAPI document: the only description of their method, path, right and edit. The
 * router and the document take these from here.
 */
export const objectOperations = {
  PutDomain: at('put', '', manageDomain, (asked) => putDomain(domainOf(asked), asked.body)),
  PutLimits: at('put', '/limits', manageDomain, (asked) => putLimits(domainOf(asked), asked.body)),
  PutQuotas: at('put', '/quotas', ofSystem, (asked) => putQuotas(domainOf(asked), asked.body, asked.quotas)),
  PutAwsAccount: at('put', '/accounts/aws', ofSystem, (asked) => putAccount(domainOf(asked), asked.body)),
  DeleteAwsAccount: at('delete', '/accounts/aws', ofSystem, (asked) => deleteAccount(domainOf(asked))),
  DeleteDomain: {
    method: 'delete',
    path: '',
    needs: ofSystem,
    operation: (asked) => deletion(domainOf(asked)),
  },
  ...ofLists('Role', 'role'),
  ...ofLists('Group', 'group'),
  GetPolicy: at('get', policy, { object: 'policy' }, (asked) => deletePolicy(policyOf(asked))),
  PutPolicy: at('put', policy, managePolicy, (asked) => putPolicy(policyOf(asked), asked.body)),
  DeletePolicy: at('delete', policy, managePolicy, (asked) => deletePolicy(policyOf(asked))),
  PutActiveVersion: at('put', `${policy}/active`, managePolicy, (asked) => putActive(policyOf(asked), asked.body)),
  PutPolicyVersion: at('put', version, managePolicy, (asked) =>
    putVersion(policyOf(asked), versionOf(asked), asked.body),
  ),
  DeletePolicyVersion: at('delete', version, managePolicy, (asked) => deleteVersion(policyOf(asked), versionOf(asked))),
  AddAssertion: at('post', `${version}/assertions`, managePolicy, (asked) =>
    addAssertion(policyOf(asked), versionOf(asked), asked.body),
  ),
  DeleteAssertion: at('delete', `${version}/assertions/{id}`, managePolicy, (asked) =>
    deleteAssertion(policyOf(asked), versionOf(asked), Number(asked.params['id'])),
  ),
  GetService: at('get', service, { object: 'service' }, (asked) => deleteService(serviceOf(asked))),
  PutService: at('put', service, manageService, (asked) => putService(serviceOf(asked), asked.body)),
  DeleteService: at('delete', service, manageService, (asked) => deleteService(serviceOf(asked))),
  GetServiceKey: at('get', key, { object: 'service' }, (asked) => deleteKey(serviceOf(asked), keyOf(asked))),
  PutServiceKey: at('put', key, manageKeys, (asked) => putKey(serviceOf(asked), keyOf(asked), asked.body)),
  DeleteServiceKey: at('delete', key, manageKeys, (asked) => deleteKey(serviceOf(asked), keyOf(asked))),
} as const satisfies Readonly<Record<string, ObjectOperation>>;

export type ObjectOperationId = keyof typeof objectOperations;
