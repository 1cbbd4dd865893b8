import { PolicyEngine } from '@signet/policy-engine';
import test from 'ava';
import fc from 'fast-check';
import { policies, request } from '../arbitrary.ts';
import { referenceDecide } from '../reference.ts';

/** Raise for a long run: `SIGNET_PROPERTY_RUNS=100000`. */
const numRuns = Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 3000);

test('property: the engine decides as the reference does, and for the same assertion', (t) => {
  fc.assert(
    fc.property(policies, fc.array(request, { minLength: 1, maxLength: 8 }), (list, requests) => {
      const domains = { d: list };
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
    }),
    { numRuns: Math.ceil(numRuns / 4) },
  );
});
