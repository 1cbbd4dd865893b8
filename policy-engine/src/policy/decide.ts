import { foldAscii } from '../names/index.ts';
import { decisionOf, withoutDomain } from './assertion.ts';
import type { DecisionContext } from './conditions.ts';
import type { Decision } from './decision.ts';
import type { DomainPolicy } from './domain-policy.ts';
import { Search } from './search.ts';
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
  if (roles.length === 0) return bareDecision('DENY_TOKEN_INVALID');
  if (!isText(action, maxActionLength) || !isText(resource, maxResourceLength)) {
    return bareDecision('DENY_INVALID_PARAMETERS');
  }
  const { prefix, index, work, overruns } = policy;
  const full = resource.startsWith(prefix) ? resource : fullName(policy, resource);
  if (full === undefined) return bareDecision('DENY_DOMAIN_MISMATCH');
  const search = new Search({ roles, action, resource: full, nameStart: prefix.length, context });
  try {
    const decisive = index.search(search);
    return decisive === undefined ? policy.fallback : decisionOf(decisive, policy);
  } catch (error) {
    if (!(error instanceof WorkExceededError)) throw error;
    // INVARIANT: an ALLOW that was found is ignored, as a DENY may be among the assertions not examined.
    overruns.count += 1;
    return policy.exceeded;
  } finally {
    work.spent += search.spent;
  }
}

const isText = (value: unknown, maxLength: number): boolean =>
  typeof value === 'string' && value.length > 0 && value.length <= maxLength;

/** The folded resource with its domain in front; `undefined` for one of another domain. */
function fullName({ prefix, domain }: DomainPolicy, resource: string): string | undefined {
  const name = withoutDomain(foldAscii(resource), domain);
  return name === undefined ? undefined : prefix + name;
}

/** Status that refuses a request before any policy is looked at; for requests to domains whose policy cannot be used. */
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
