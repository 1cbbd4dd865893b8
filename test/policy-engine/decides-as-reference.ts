import { PolicyEngine } from '@signet/policy-engine';
import type { ExecutionContext } from 'ava';
import { referenceDecide } from './reference.ts';

type Domains = Parameters<typeof PolicyEngine.fromDomains>[0] & Parameters<typeof referenceDecide>[0];
type Asked = Parameters<PolicyEngine['decideRoles']>[0] & Parameters<typeof referenceDecide>[1];

/** Number of first assertions that are decided before all are asked again. */
const firstOnes = 16;

/**
 * The engine answers each request as the reference does, and for the same assertion. An assertion that has decided before is seen without a
 * search: requests that the assertions match come first, and all come twice.
 */
export function decidesAsReference(t: ExecutionContext, domains: Domains, requests: readonly Asked[]): void {
  const engine = PolicyEngine.fromDomains(domains);
  for (const asked of [...requestsMatched(domains), ...requests, ...requests]) {
    const wanted = referenceDecide(domains, asked);
    const decision = engine.decideRoles(asked);
    t.is(decision.status, wanted.status);
    t.is(decision.policy, wanted.policy);
    t.is(decision.assertion?.role, wanted.assertion?.role);
    t.is(decision.assertion?.action, wanted.assertion?.action);
    t.is(decision.assertion?.resource, wanted.assertion?.resource);
  }
}

/** For each of the first assertions a request that it matches: its texts, in which `*` stands for nothing and `?` for a letter. */
function requestsMatched(domains: Domains): Asked[] {
  const literal = (pattern: string): string => pattern.replaceAll('*', '').replaceAll('?', 'a');
  return Object.entries(domains).flatMap(([domain, policies]) =>
    policies.flatMap(({ assertions }) =>
      assertions.slice(0, firstOnes).map(({ role, action, resource }) => ({
        domain,
        roles: [literal(role.replace(/^(.*:)?role\./, ''))],
        action: literal(action),
        resource: literal(resource.includes(':') ? resource : `${domain}:${resource}`),
      })),
    ),
  );
}
