import { type AssertionInput, PolicyEngine } from '@signet/policy-engine';
import test from 'ava';
import fc from 'fast-check';
import { referenceMatches } from '../reference.ts';

/* Patterns that are told apart by their literals: what is found is what a comparison with every pattern finds. */

const units = ['a', 'b', 'ab', '.', '\u{1F600}'];
const pattern = fc.string({ unit: fc.constantFrom(...units, '*', '*', '?'), minLength: 1, maxLength: 8 });
const texts = fc.array(fc.string({ unit: fc.constantFrom(...units), minLength: 1, maxLength: 24 }), { maxLength: 20 });
const members = ['role', 'action', 'resource'] as const;

function asserted(member: (typeof members)[number], text: string): AssertionInput {
  return { role: 'a', action: 'a', resource: 'd:a', [member]: member === 'resource' ? `d:${text}` : text };
}

test('property: of many patterns of a role, an action or a resource the first one that matches decides', (t) => {
  const patterns = fc.uniqueArray(pattern, { minLength: 17, maxLength: 120 });
  fc.assert(
    fc.property(patterns, texts, fc.constantFrom(...members), (all, asked, member) => {
      const assertions = all.map((text) => asserted(member, text));
      const engine = PolicyEngine.fromDomains({ d: [{ name: 'p', assertions }] });
      const inOrder = member === 'role' ? all.toSorted((a, b) => (a < b ? -1 : 1)) : all;
      for (const text of [...asked, ...all.map((one) => one.replaceAll(/[*?]/g, 'b'))]) {
        const { role, action, resource } = asserted(member, text);
        const decision = engine.decideRoles({ domain: 'd', roles: [role], action, resource });
        const exact = member === 'role' ? all.find((one) => one === text && !/[*?]/.test(one)) : undefined;
        const first = exact ?? inOrder.find((one) => referenceMatches(one, text));
        t.is(decision.assertion?.[member], first === undefined ? undefined : asserted(member, first)[member]);
      }
    }),
    { numRuns: 300 },
  );
});

/** Work of one decision among the patterns. */
function workOf(resources: readonly string[], asked: string): number {
  const assertions = resources.map((resource) => ({ role: 'a', action: 'a', resource }));
  const engine = PolicyEngine.fromDomains({ d: [{ name: 'p', assertions }] });
  engine.decideRoles({ domain: 'd', roles: ['a'], action: 'a', resource: `d:${asked}` });
  return engine.policyOf('d')?.work.spent ?? 0;
}

const trees: readonly [note: string, make: (index: number) => string, asked: string][] = [
  ['prefixes', (index) => `item.${index}.*`, 'item.10007.part'],
  ['literals inside', (index) => `a.*.item.${index}.*.end`, 'a.x.item.10007.y.end'],
  [
    'literals at the end, behind a common beginning',
    (index) => `a/long/common/beginning/*/${index}`,
    'a/long/common/beginning/x/10007',
  ],
];
for (const [note, make, asked] of trees) {
  test(`ten thousand patterns are told apart by their ${note}, for about as much work as twenty`, (t) => {
    const numbered = (count: number) => Array.from({ length: count }, (_, index) => make(index + 10_000));
    const [few, many] = [workOf(numbered(20), asked), workOf(numbered(10_000), asked)];
    t.true(many <= few + 20, `${few} and ${many} units`);
  });
}

test('a literal is paid for by its length, also where it is looked up in vain', (t) => {
  const literal = 'x'.repeat(100);
  const patterns = Array.from({ length: 17 }, (_, index) => `${literal}${index + 10}*`);
  t.true(workOf(patterns, 'y'.repeat(102)) >= 102);
  t.true(workOf(patterns, 'y'.repeat(101)) < 20, 'a literal that is longer than the text is not looked for');
});
