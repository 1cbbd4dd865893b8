import { foldAscii } from '../names/index.ts';
import { type CompiledAssertion, decisionOf, withoutDomain } from './assertion.ts';
import type { DecisionContext } from './conditions.ts';
import type { Decision } from './decision.ts';
import type { DomainPolicy, EffectIndex } from './domain-policy.ts';
import type { Query } from './rules.ts';
import { type Status, statuses } from './status.ts';

const bareDecisions: ReadonlyMap<Status, Decision> = new Map(
  statuses.map((status) => [status, Object.freeze({ status })]),
);

/** The decision that says no more than its status, one object a status. */
export function bareDecision(status: Status): Decision {
  return bareDecisions.get(status) ?? { status };
}

/**
 * Decides in one domain (the algorithm of decision 33): every DENY is searched before any ALLOW, plain roles before pattern
 * roles; the roles in the order given, their assertions in the order of the policies.
 * `roles` are short names, compared as data: a `*` in one is no wildcard. `resource` may have the domain in front.
 */
export function decideInDomain(
  policy: DomainPolicy,
  roles: readonly string[],
  action: string,
  resource: string,
  context?: DecisionContext,
): Decision {
  if (roles.length === 0) return bareDecision('DENY_TOKEN_INVALID');
  if (!isText(action) || !isText(resource)) return bareDecision('DENY_INVALID_PARAMETERS');
  const folded = foldAscii(resource);
  const entity = policy.qualified ? folded : withoutDomain(folded, policy.domain);
  if (entity === undefined) return bareDecision('DENY_DOMAIN_MISMATCH');
  const query: Query = { action: foldAscii(action), resource: entity, context };
  const deciding = findIn(policy.deny, roles, query) ?? findIn(policy.allow, roles, query);
  return deciding === undefined ? policy.fallback : decisionOf(deciding, policy.domain, policy.revision);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0;
}

function findIn(index: EffectIndex, roles: readonly string[], query: Query): CompiledAssertion | undefined {
  if (index.byRole.size > 0) {
    for (const role of roles) {
      const found = index.byRole.get(role)?.find(query, undefined);
      if (found !== undefined) return found;
    }
  }
  if (index.byRolePattern === undefined) return undefined;
  for (const role of roles) {
    const found = index.byRolePattern.find(role, query, undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What refuses a request before any policy is looked at; for requests to domains whose policy cannot be used. */
export function checkRequest(
  domain: string,
  roles: readonly string[],
  action: string,
  resource: string,
): Status | undefined {
  if (roles.length === 0 || !isText(domain)) return 'DENY_TOKEN_INVALID';
  if (!isText(action) || !isText(resource)) return 'DENY_INVALID_PARAMETERS';
  return withoutDomain(foldAscii(resource), domain) === undefined ? 'DENY_DOMAIN_MISMATCH' : undefined;
}
