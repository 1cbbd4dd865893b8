import test from 'ava';
import fc from 'fast-check';
import { policies, request } from '../arbitrary.ts';
import { decidesAsReference } from '../decides-as-reference.ts';

/** Raise for a long run: `SIGNET_PROPERTY_RUNS=100000`. */
const numRuns = Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 3000);

test('property: the engine decides as the reference does, and for the same assertion', (t) => {
  fc.assert(
    fc.property(policies, fc.array(request, { minLength: 1, maxLength: 8 }), (list, requests) => {
      const domains = { d: list };
      decidesAsReference(t, domains, requests);
    }),
    { numRuns: Math.ceil(numRuns / 4) },
  );
});
