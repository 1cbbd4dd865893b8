import { foldAscii } from '../names/index.ts';
import { decisionOf, withoutDomain } from './assertion.ts';
import { beginsWith } from './begins-with.ts';
import type { DecisionContext } from './conditions.ts';
import type { Decision } from './decision.ts';
import type { DomainPolicy } from './domain-policy.ts';
import { type Question, Search } from './search.ts';
import { type Status, statuses } from './status.ts';
import { maxActionLength, maxResourceLength, WorkExceededError } from './work.ts';

const bareDecisions: ReadonlyMap<Status, Decision> = new Map(
  statuses.map((status) => [status, Object.freeze({ status })]),
);

/** The decision that says no more than its status, one object a status. */
export function bareDecision(status: Status): Decision {
  return bareDecisions.get(status) ?? { status };
}

/**
 * Decides in one domain (the algorithm of docs/reference/decisions.md#algorithm): every DENY is searched before any ALLOW, plain roles before pattern
 * roles; the roles in the order given, their assertions in the order of the policies.
 * `roles` are short names, compared as data: a `*` in one is not a wildcard. `resource` may have the domain in front.
 */
// biome-ignore lint/complexity/useMaxParams: published with these five; to change them would break callers
export function decideInDomain(
  policy: DomainPolicy,
  roles: readonly string[],
  action: string,
  resource: string,
  context?: DecisionContext,
): Decision {
  if (roles.length === 1 && isText(action, longestAction) && isText(resource, longestResource)) {
    const seen = policy.index.glance(roles[0] ?? '', action, resource);
    if (seen === null) return policy.fallback;
    // The first decision of an assertion takes a search as well.
    if (seen?.decision !== undefined) return seen.decision;
  }
  return searchInDomain(policy, roles, { action, resource, context });
}

// Compiled code reads at each use what is imported.
const [longestAction, longestResource] = [maxActionLength, maxResourceLength];

const isText = (value: unknown, maxLength: number): boolean =>
  typeof value === 'string' && isWithin(value.length, maxLength);

const isWithin = (length: number, maxLength: number): boolean => length > 0 && length <= maxLength;

/** The resource with its domain as written in `prefix`; `undefined` for one of another domain. */
function resourceIn({ prefix, domain }: DomainPolicy, resource: string): string | undefined {
  const name = withoutDomain(foldAscii(resource), domain);
  return name === undefined ? undefined : prefix + name;
}

/** Apart from the glance, so that the compiler sees that whole. */
function searchInDomain(policy: DomainPolicy, roles: readonly string[], asked: Question): Decision {
  if (roles.length === 0) return bareDecision('DENY_TOKEN_INVALID');
  if (!isText(asked.action, maxActionLength) || !isText(asked.resource, maxResourceLength)) {
    return bareDecision('DENY_INVALID_PARAMETERS');
  }
  const { prefix, index, work, overruns } = policy;
  const resource = beginsWith(asked.resource, prefix) ? asked.resource : resourceIn(policy, asked.resource);
  if (resource === undefined) return bareDecision('DENY_DOMAIN_MISMATCH');
  const { action, context } = asked;
  const search = new Search(roles, { action, resource, context }, prefix.length);
  try {
    index.search(search);
  } catch (error) {
    if (!(error instanceof WorkExceededError)) throw error;
    // INVARIANT: an ALLOW that was found counts for nothing, as a DENY may be among what was not looked at.
    overruns.count += 1;
    return policy.exceeded;
  } finally {
    work.spent += search.spent;
  }
  return search.best === undefined ? policy.fallback : decisionOf(search.best, policy);
}

/** What refuses a request before any policy is looked at; for requests to domains whose policy cannot be used. */
export function checkRequest(
  domain: string,
  roles: readonly string[],
  action: string,
  resource: string,
): Status | undefined {
  if (roles.length === 0 || typeof domain !== 'string' || domain === '') return 'DENY_TOKEN_INVALID';
  if (!isText(action, maxActionLength) || !isText(resource, maxResourceLength)) return 'DENY_INVALID_PARAMETERS';
  return withoutDomain(foldAscii(resource), domain) === undefined ? 'DENY_DOMAIN_MISMATCH' : undefined;
}
