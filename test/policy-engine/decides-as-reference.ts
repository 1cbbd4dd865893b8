import { PolicyEngine } from '@signet/policy-engine';
import type { ExecutionContext } from 'ava';
import { referenceDecide } from './reference.ts';

type Domains = Parameters<typeof PolicyEngine.fromDomains>[0] & Parameters<typeof referenceDecide>[0];
type Asked = Parameters<PolicyEngine['decideRoles']>[0] & Parameters<typeof referenceDecide>[1];

/** The engine answers each request as the reference does, and for the same assertion. */
export function decidesAsReference(t: ExecutionContext, domains: Domains, requests: readonly Asked[]): void {
  const engine = PolicyEngine.fromDomains(domains);
  for (const asked of requests) {
    const wanted = referenceDecide(domains, asked);
    const decision = engine.decideRoles(asked);
    t.is(decision.status, wanted.status);
    t.is(decision.policy, wanted.policy);
    t.is(decision.assertion?.role, wanted.assertion?.role);
    t.is(decision.assertion?.action, wanted.assertion?.action);
    t.is(decision.assertion?.resource, wanted.assertion?.resource);
  }
}
