import { deepStrictEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import fc from 'fast-check';
import { policies } from './arbitrary.ts';
import {
  type Answer,
  catalogEngine,
  engineDoor,
  type RequiredAccess,
  referenceDoor,
  serverDoor,
  serverDoors,
} from './doors.ts';

/* The same question through three doors: the library with a token, the server's access check, and the plain evaluator. */

const authority = await createTestAuthority();
const file = new URL('../support/cases/decisions.json', import.meta.url);
const cases: readonly (RequiredAccess & Answer & { note: string })[] = JSON.parse(readFileSync(file, 'utf8'));

/** One token for each list of roles, so that the doors and not the signatures take the time. */
const tokens = new Map<string, Promise<string>>();
function tokenFor(roles: readonly string[]): Promise<string> {
  const key = roles.join(' ');
  const known = tokens.get(key) ?? authority.token({ domain: 'catalog', roles });
  tokens.set(key, known);
  return known;
}

/** Names that the server takes as an action; an access check knows no context and no `*` in an action. */
const serverActions = /^[a-z0-9_][a-z0-9_-]*(\.[a-z0-9_][a-z0-9_-]*)*$/i;

for (const { note, status, decidedBy, ...asked } of cases) {
  const wanted: Answer = { status, ...(decidedBy !== undefined && { decidedBy }) };
  test(`engine: ${note}`, async (t) => {
    const engine = catalogEngine(authority, asked.assertions);
    t.deepEqual(await engineDoor(engine, await tokenFor(asked.roles), asked), wanted);
  });
  test(`reference: ${note}`, (t) => t.deepEqual(referenceDoor(asked), wanted));
  if (asked.context !== undefined || !serverActions.test(asked.action)) continue;
  test(`server: ${note}`, (t) => t.deepEqual(serverDoor(asked), wanted));
}

const names = ['a', 'b', 'aa', 'ab', 'ba', 'a.b', 'aba', 'bab', 'a.a', 'abab'];
const anyAssertions = policies.map((list) =>
  list.flatMap(({ assertions }) =>
    assertions.map((assertion) => ({
      ...assertion,
      role: assertion.role.replace(/^d:/, 'catalog:'),
      resource: assertion.resource.replace(/^d:/i, (prefix) => (prefix === 'd:' ? 'catalog:' : 'Catalog:')),
    })),
  ),
);

const anyRequest = fc.record({
  // The server hands roles over in the order of their names.
  roles: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((roles) => roles.toSorted()),
  action: fc.constantFrom(...names, 'A', 'aB'),
  resource: fc.constantFrom(...names, 'A', 'aB', '', 'a:b').map((entity) => `catalog:${entity}`),
});

/** Requests about each random policy; `SIGNET_PROPERTY_RUNS=2000` makes 100,000 of them. */
const requestsOfEach = 50;
const numPolicies = Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 400);

test(`property: the three doors give one answer, ${numPolicies * requestsOfEach} times`, async (t) => {
  const anyRequests = fc.array(anyRequest, { minLength: requestsOfEach, maxLength: requestsOfEach });
  const property = fc.asyncProperty(anyAssertions, anyRequests, async (assertions, requests) => {
    const asked = requests.map((request) => ({ assertions, ...request }));
    const engine = catalogEngine(authority, assertions);
    const wanted = asked.map(referenceDoor);
    const decided: Answer[] = [];
    for (const one of asked) decided.push(await engineDoor(engine, await tokenFor(one.roles), one));
    // Plain assertions, so that a failure is shrunk to something small before it is printed.
    deepStrictEqual(decided, wanted);
    deepStrictEqual(
      serverDoors(assertions, requests).map(({ status }) => status),
      wanted.map(({ status }) => status),
    );
  });
  await t.notThrowsAsync(fc.assert(property, { numRuns: numPolicies }));
});

test('the reference takes nothing of the engine but types', (t) => {
  const files = [new URL('./reference.ts', import.meta.url)];
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    for (const [, isType, from = ''] of source.matchAll(/^import (type )?[^;]*?from '([^']+)';$/gm)) {
      if (isType === undefined && from.startsWith('#support/')) {
        files.push(new URL(`../support/${from.slice('#support/'.length)}.ts`, import.meta.url));
      } else if (isType === undefined) {
        t.regex(from, /^node:/, `${file.pathname} imports ${from}`);
      }
    }
  }
  t.is(files.length, 3);
});
