import type { Clock } from '../clock.ts';
import { bareDecision, checkRequest, decideInDomain } from '../policy/decide.ts';
import type { Decision, DecisionContext, DomainPolicy } from '../policy/index.ts';

/** The policy of one domain and until when it may be used. */
export interface LoadedDomain {
  /** Time at which the bundle was issued, in milliseconds since the epoch; absent for policies that came from memory. */
  readonly issued?: number;
  readonly policy: DomainPolicy;
  /** Milliseconds since the epoch; infinite for policies that came from memory. */
  readonly expires: number;
}

/** Policies of an engine. Immutable: a new set replaces an old one by one assignment. */
export type PolicySet = ReadonlyMap<string, LoadedDomain>;

/** Policy set with a cache of the domain that was looked up last: most services use one again and again. */
export class PolicyLookUp {
  readonly set: PolicySet;
  #name: string | undefined;
  #loaded: LoadedDomain | undefined;

  constructor(set: PolicySet) {
    this.set = set;
  }

  get(domain: string): LoadedDomain | undefined {
    return domain === this.#name ? this.#loaded : this.#lookUp(domain);
  }

  #lookUp(domain: string): LoadedDomain | undefined {
    this.#loaded = this.set.get(domain);
    this.#name = domain;
    return this.#loaded;
  }
}

/** Requested action and resource, independent of the caller. */
export interface RequestedAccess {
  readonly action: string;
  readonly resource: string;
  readonly context?: DecisionContext | undefined;
}

/** Decides for roles of a domain. The clock is read only where the policy has an end; a time in milliseconds since the epoch may replace it. */
// biome-ignore lint/complexity/useMaxParams: an object for them takes longer to make than some decisions
export function decideInSet(
  policies: PolicyLookUp,
  domain: string,
  roles: readonly string[],
  asked: RequestedAccess,
  clock: Clock | number,
): Decision {
  const loaded = policies.get(domain);
  if (loaded !== undefined && isInForce(loaded, clock)) {
    return decideInDomain(loaded.policy, roles, asked.action, asked.resource, asked.context);
  }
  return refusal(loaded, domain, roles, asked);
}

/** The decision where no policy is in force. */
function refusal(
  loaded: LoadedDomain | undefined,
  domain: string,
  roles: readonly string[],
  asked: RequestedAccess,
): Decision {
  const status = checkRequest(domain, roles, asked.action, asked.resource);
  if (status !== undefined) return bareDecision(status);
  return { status: loaded === undefined ? 'DENY_DOMAIN_NOT_FOUND' : 'DENY_DOMAIN_EXPIRED', domain };
}

const isInForce = ({ expires }: LoadedDomain, clock: Clock | number): boolean =>
  expires === Number.POSITIVE_INFINITY || timeOf(clock) < expires;

function timeOf(clock: Clock | number): number {
  return typeof clock === 'number' ? clock : clock.now();
}
