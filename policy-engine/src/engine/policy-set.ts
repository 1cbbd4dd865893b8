import { bareDecision, checkRequest, decideInDomain } from '../policy/decide.ts';
import type { Decision, DecisionContext, DomainPolicy } from '../policy/index.ts';

/** The policy of one domain and until when it may be used. */
export interface LoadedDomain {
  /** When the bundle was issued, in milliseconds since the epoch; absent for policies that came from memory. */
  readonly issued?: number;
  readonly policy: DomainPolicy;
  /** Milliseconds since the epoch; infinite for policies that came from memory. */
  readonly expires: number;
}

/** All policies of an engine. Never changed: a new set takes the place of an old one by one assignment. */
export type PolicySet = ReadonlyMap<string, LoadedDomain>;

/** Decides for roles of a domain, at a time in milliseconds since the epoch. */
export function decideInSet(
  set: PolicySet,
  domain: string,
  roles: readonly string[],
  action: string,
  resource: string,
  now: number,
  context: DecisionContext | undefined,
): Decision {
  const loaded = set.get(domain);
  if (loaded !== undefined && now < loaded.expires) {
    return decideInDomain(loaded.policy, roles, action, resource, context);
  }
  const refusal = checkRequest(domain, roles, action, resource);
  if (refusal !== undefined) return bareDecision(refusal);
  return { status: loaded === undefined ? 'DENY_DOMAIN_NOT_FOUND' : 'DENY_DOMAIN_EXPIRED', domain };
}
