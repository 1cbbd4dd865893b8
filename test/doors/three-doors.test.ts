import { deepStrictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { PolicyEngine, type PolicyInput, type Status } from '@signet/policy-engine';
import test from 'ava';
import fc from 'fast-check';
import { parse } from 'yaml';
import { policies as anyPolicies, request as anyRequest } from '../policy-engine/arbitrary.ts';
import { referenceDecide } from '../policy-engine/reference.ts';
import { type Asked, canHold, throughServer } from './server-door.ts';

interface Table {
  policies: PolicyInput[];
  cases: (Asked & { note: string; expect: Status })[];
}

const tables: Table[] = parse(readFileSync(new URL('decisions.yaml', import.meta.url), 'utf8'));

for (const { policies, cases } of tables) {
  for (const { note, expect, ...asked } of cases) {
    test(`${policies[0]?.name}: ${note}`, (t) => {
      const domains = { catalog: policies };
      const engine = PolicyEngine.fromDomains(domains);
      const doors = {
        engine: engine.decideRoles({ domain: 'catalog', ...asked }).status,
        server: throughServer('catalog', policies, [asked])[0],
        reference: referenceDecide(domains, { domain: 'catalog', ...asked }).status,
      };
      t.deepEqual(doors, { engine: expect, server: expect, reference: expect });
    });
  }
}

/** Together 100,000 rounds: so many sets of policies, and so many requests of each. */
const [sets, requestsOfEach] = [5000, 20];

test('100,000 random rounds: engine, server and reference give the same answer', (t) => {
  const requests = fc.array(anyRequest, { minLength: requestsOfEach, maxLength: requestsOfEach });
  // Plain assertions inside, so that a failure is shrunk before it is printed.
  const holds = () =>
    fc.assert(
      fc.property(anyPolicies, requests, (policies, asked) => {
        const domains = { d: policies };
        const engine = PolicyEngine.fromDomains(domains);
        const answers = asked.map((one) => engine.decideRoles(one).status);
        const wanted = asked.map((one) => referenceDecide(domains, one).status);
        deepStrictEqual(answers, wanted);
        // The server asks in the domain that the resource names, and its callers know no condition's context.
        const toServer = asked.flatMap(({ context, ...one }, index) =>
          context === undefined &&
          one.domain === 'd' &&
          one.roles.length > 0 &&
          canHold(one.roles) &&
          /^d:/i.test(one.resource) &&
          one.action !== ''
            ? [{ one, index }]
            : [],
        );
        const served = throughServer(
          'd',
          policies,
          toServer.map(({ one }) => one),
        );
        deepStrictEqual(
          served,
          toServer.map(({ index }) => wanted[index]),
        );
      }),
      { numRuns: sets },
    );
  t.notThrows(holds);
});
