import { readFileSync } from 'node:fs';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import fc from 'fast-check';
import { policies } from './arbitrary.ts';
import { type Answer, type Asked, catalogEngine, engineDoor, referenceDoor, serverDoor } from './doors.ts';

/* The same question through three doors: the library with a token, the server's access check, and the plain evaluator. */

const authority = await createTestAuthority();
const file = new URL('../support/cases/decisions.json', import.meta.url);
const cases: readonly (Asked & Answer & { note: string })[] = JSON.parse(readFileSync(file, 'utf8'));

/** One token a list of roles, so that the doors and not the signatures take the time. */
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
const asked = fc.record({
  assertions: policies.map((list) =>
    list.flatMap(({ assertions }) =>
      assertions.map((assertion) => ({
        ...assertion,
        role: assertion.role.replace(/^d:/, 'catalog:'),
        resource: assertion.resource.replace(/^d:/i, (prefix) => (prefix === 'd:' ? 'catalog:' : 'Catalog:')),
      })),
    ),
  ),
  // The server hands roles over in the order of their names.
  roles: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((roles) => roles.toSorted()),
  action: fc.constantFrom(...names, 'A', 'aB'),
  resource: fc.constantFrom(...names, 'A', 'aB', '', 'a:b').map((entity) => `catalog:${entity}`),
});

/** A long run in CI: `SIGNET_PROPERTY_RUNS=100000`. */
const numRuns = Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 3000);

test('property: the three doors give one answer', async (t) => {
  await fc.assert(
    fc.asyncProperty(asked, async (one) => {
      const wanted = referenceDoor(one);
      t.deepEqual(await engineDoor(catalogEngine(authority, one.assertions), await tokenFor(one.roles), one), wanted);
      t.is(serverDoor(one).status, wanted.status);
    }),
    { numRuns },
  );
});
