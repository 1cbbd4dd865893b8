import { z } from 'zod';
import { type ApiRequest, ask, type Call } from './api.ts';
import { requestShape } from './request-shapes.ts';
import {
  accessEntryShape,
  certificateShape,
  changeShape,
  domainShape,
  explanationShape,
  hitShape,
  memberShape,
  pageShape,
  policyShape,
  reviewShape,
  roleShape,
  serviceShape,
} from './shapes.ts';

/* Questions that pages ask of the management API: one function for each, whose answer is parsed. All of them throw `ApiRefusedError`. */

/** Items of one page of a list. */
const pageLength = 50;

type Query = Readonly<Record<string, string | undefined>>;

function get(path: readonly string[], query: Query = {}): ApiRequest {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return { method: 'GET', path, query: Object.fromEntries(given) };
}

function list<Item extends z.ZodType>(call: Call, path: readonly string[], item: Item, query: Query = {}) {
  return ask(call, get(path, { limit: String(pageLength), ...query }), pageShape(item));
}

export const readDomains = (call: Call, cursor?: string) => list(call, ['domains'], z.string(), { cursor });
export const readDomain = (call: Call, domain: string) => ask(call, get(['domains', domain]), domainShape);
export const readRoles = (call: Call, domain: string, query: Query) =>
  list(call, ['domains', domain, 'role-details'], roleShape, query);
export const readGroups = (call: Call, domain: string, query: Query) =>
  list(call, ['domains', domain, 'group-details'], roleShape, query);
/** Members of a role or group; `path` is `domain`, `roles` or `groups`, and the name. */
export const readMembers = (call: Call, path: readonly string[], cursor?: string) =>
  list(call, ['domains', ...path, 'members'], memberShape, { cursor });
export const readNames = (call: Call, domain: string, what: 'policies' | 'services', cursor?: string) =>
  list(call, ['domains', domain, what], z.string(), { cursor });
export const readPolicy = (call: Call, domain: string, name: string) =>
  ask(call, get(['domains', domain, 'policies', name]), policyShape);
export const readService = (call: Call, domain: string, name: string) =>
  ask(call, get(['domains', domain, 'services', name]), serviceShape);
export const readExplanation = (call: Call, question: Query) =>
  ask(call, get(['explanation'], question), explanationShape);
export const readAccess = (call: Call, principal: string, cursor?: string) =>
  list(call, ['access'], accessEntryShape, { principal, cursor });
export const readHits = (call: Call, query: Query) => list(call, ['search'], hitShape, query);
export const readCertificates = (call: Call, holder: string, cursor?: string) =>
  list(call, ['certificates'], certificateShape, { holder, state: 'all', cursor });
export const readCertificate = (call: Call, serial: string) =>
  ask(call, get(['certificates', serial]), certificateShape);
export const readReviews = (call: Call, query: Query) => list(call, ['reviews'], reviewShape, query);
export const readRequests = (call: Call, query: Query) => list(call, ['requests'], requestShape, query);
export const readRequest = (call: Call, id: string) =>
  ask(call, get(['requests', id], { files: 'true' }), requestShape);

/** Records of the audit log: of one domain, or of all for system operators. */
export const readChanges = (call: Call, domain: string | undefined, query: Query) =>
  list(call, domain === undefined ? ['changes'] : ['domains', domain, 'changes'], changeShape, query);
/** Records of one object of a domain. */
export const readObjectChanges = (call: Call, path: readonly string[], query: Query = {}) =>
  list(call, ['domains', ...path, 'changes'], changeShape, query);
