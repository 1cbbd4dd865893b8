import { parseDomainName, parseKeyId, parsePolicyName, parseServiceName } from '@signet/policy-engine/names';
import type { DomainEdit } from '../../management/change-domain.ts';
import { deleteAccount, putAccount, putDomain, putLimits, putQuotas } from '../../management/edits/edit-domains.ts';
import {
  deleteList,
  deleteMember,
  type MemberList,
  parseMemberList,
  putList,
  putMember,
} from '../../management/edits/edit-member-lists.ts';
import {
  addAssertion,
  deleteAssertion,
  deletePolicy,
  deleteVersion,
  type PolicyPath,
  putActive,
  putPolicy,
  putVersion,
} from '../../management/edits/edit-policies.ts';
import {
  deleteKey,
  deleteService,
  putKey,
  putService,
  type ServicePath,
} from '../../management/edits/edit-services.ts';
import type { Quotas } from '../../model/records.ts';
import { bodyJson } from '../body.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { manages, objectOf, type PathRight, views } from './path-rights.ts';
import { answerChange, answerObject } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Request for an object: parameters of the path, and the parsed body. */
interface AskedOfObject {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
  /** Quotas of the server. */
  readonly quotas: Quotas;
}

type Method = 'get' | 'put' | 'post' | 'delete';

/** Operation on a domain or one of its objects: `GET` answers the object of the edit, the others make it. */
interface ObjectOperation {
  readonly method: Method;
  /** Path below the domain, with its parameters in braces. */
  readonly path: string;
  readonly needs: PathRight;
  edit(asked: AskedOfObject): DomainEdit;
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

function at(method: Method, path: string, needs: PathRight, edit: ObjectOperation['edit']): ObjectOperation {
  return { method, path, needs, edit };
}

const manageDomain = manages('manage_domain', objectOf.domain);
/** A right that only the policy of `sys.auth` grants. */
const ofSystem: PathRight = { kind: 'manage', right: 'manage_domain', object: objectOf.domain, systemOnly: true };
const managePolicy = manages('manage_policies', objectOf.policy);
const manageService = manages('manage_services', objectOf.service);
const manageKeys = manages('manage_keys', objectOf.service);

/** Operations on roles or groups and their members; the ids end with the kind. */
function ofLists<Kind extends 'Role' | 'Group'>(Kind: Kind, kind: MemberList['kind']) {
  const one = `/${kind}s/{name}`;
  const member = `${one}/members/{member}`;
  const [view, manage] = [views(objectOf[kind]), manages('manage_domain', objectOf[kind])];
  const members = manages('manage_members', objectOf[kind]);
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
  ...ofLists('Role', 'role'),
  ...ofLists('Group', 'group'),
  GetPolicy: at('get', policy, views(objectOf.policy), (asked) => deletePolicy(policyOf(asked))),
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
  GetService: at('get', service, views(objectOf.service), (asked) => deleteService(serviceOf(asked))),
  PutService: at('put', service, manageService, (asked) => putService(serviceOf(asked), asked.body)),
  DeleteService: at('delete', service, manageService, (asked) => deleteService(serviceOf(asked))),
  GetServiceKey: at('get', key, views(objectOf.service), (asked) => deleteKey(serviceOf(asked), keyOf(asked))),
  PutServiceKey: at('put', key, manageKeys, (asked) => putKey(serviceOf(asked), keyOf(asked), asked.body)),
  DeleteServiceKey: at('delete', key, manageKeys, (asked) => deleteKey(serviceOf(asked), keyOf(asked))),
} as const satisfies Readonly<Record<string, ObjectOperation>>;

export type ObjectOperationId = keyof typeof objectOperations;

/** Mounts the operations on domains and their objects. */
export function mountObjectOperations(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  for (const { method, path, needs, edit } of Object.values<ObjectOperation>(objectOperations)) {
    const full = `${deps.basePath}/domains/:domainName${path.replace(/\{(\w+)\}/g, ':$1')}`;
    const takesBody = method === 'put' || method === 'post';
    const answer = method === 'get' ? answerObject : answerChange;
    routes.mount(method, full, needs, async (ctx) => {
      const body = takesBody ? bodyJson(ctx) : undefined;
      await answer(deps, ctx, edit({ params: ctx.params, body, quotas: deps.quotas }));
    });
  }
}
