import { matchesPattern } from '@signet/policy-engine/policy';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

interface Entry {
  readonly text: string;
  readonly alike: Entry | undefined;
}
interface Node extends Entry {
  readonly foundBefore: Node | undefined;
}
interface Walk {
  readonly text: string;
  readonly isAsIs: boolean;
  left: number;
  found: Node | undefined;
}
interface Nodes {
  add(glob: string, group: string): void;
  walk(walk: Walk, from: number): void;
}
const { GlobNodes } = await internals<{ GlobNodes: new () => Nodes }>('policy-engine/src/policy/glob-nodes.ts');
const { emptyLiteral, hashed } = await internals<{
  emptyLiteral: number;
  hashed(hash: number, text: string, from: number, end: number): number;
}>('policy-engine/src/policy/literal-hash.ts');

function nodesOf(globs: Iterable<string>): Nodes {
  const nodes = new GlobNodes();
  for (const glob of globs) nodes.add(glob, glob);
  return nodes;
}

function found(nodes: Nodes, walk: Partial<Walk> & Pick<Walk, 'text'>, from = 0): { globs: string[]; left: number } {
  const done = { isAsIs: true, left: 1_000_000, found: undefined, ...walk };
  nodes.walk(done, from);
  const globs: string[] = [];
  for (let node: Node | undefined = done.found; node !== undefined; node = node.foundBefore) {
    for (let entry: Entry | undefined = node; entry !== undefined; entry = entry.alike) globs.push(entry.text);
  }
  return { globs: globs.toSorted(), left: done.left };
}

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'ab', '.', 'A', '\u{1F600}'), maxLength: 24 });
const glob = fc
  .string({ unit: fc.constantFrom('a', 'b', '.', 'A', '*', '*', '?'), minLength: 1, maxLength: 9 })
  .filter((text) => /[*?]/.test(text));

test('property: every glob that matches is found, once', (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(glob, { maxLength: 60 }), fc.array(letters, { maxLength: 20 }), (globs, texts) => {
      const nodes = nodesOf(globs);
      for (const text of [...texts, ...globs.map((one) => one.replaceAll(/[*?]/g, 'b'))]) {
        const { globs: all } = found(nodes, { text });
        t.deepEqual(all, [...new Set(all)]);
        t.deepEqual(
          globs.filter((one) => matchesPattern(one, text) && !all.includes(one)),
          [],
        );
      }
    }),
    { numRuns: 300 },
  );
});

test('a glob is found by all of its literals, each where it may stand', (t) => {
  const nodes = nodesOf(['a*cc*e', 'a*e', 'a*e*', '*cc*', 'b*cc*e', 'a*ce*e', 'a*cc*f', 'a?e']);
  t.deepEqual(found(nodes, { text: 'axccxe' }).globs, ['*cc*', 'a*cc*e', 'a*e', 'a*e*', 'a?e']);
  t.deepEqual(found(nodes, { text: 'd:axccxe' }, 2).globs, ['*cc*', 'a*cc*e', 'a*e', 'a*e*', 'a?e']);
  t.deepEqual(found(nodes, { text: 'acce' }).globs, ['*cc*', 'a*cc*e', 'a*e', 'a*e*', 'a?e']);
  t.deepEqual(found(nodes, { text: 'ac' }).globs, [], 'literals do not share characters');
  t.deepEqual(found(nodesOf(['ab*ba', 'a*bb*b']), { text: 'aba' }).globs, []);
  t.deepEqual(found(nodesOf(['ab*ba', 'a*bb*b']), { text: 'abb' }).globs, []);
});

test('capitals are read as they are, or given up at', (t) => {
  const nodes = nodesOf(['a*b', 'a*c*b', 'A*b']);
  t.deepEqual(found(nodes, { text: 'AxB' }).globs, []);
  t.deepEqual(found(nodes, { text: 'Axb' }).globs, ['A*b']);
  for (const text of ['Axb', 'axB', 'aCb']) t.true(found(nodes, { text, isAsIs: false }).left < 0, text);
  t.deepEqual(found(nodes, { text: 'aXb', isAsIs: false }).globs, ['a*b']);
});

test('ten thousand globs are told apart, for about as many steps as ten', (t) => {
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => `a.*.item.${at + 10_000}.*.end`);
  const text = 'a.x.item.10007.y.end';
  const few = found(nodesOf(numbered(10)), { text });
  const many = found(nodesOf(numbered(10_000)), { text });
  t.deepEqual(few.globs, ['a.*.item.10007.*.end']);
  t.deepEqual(many.globs, few.globs);
  t.true(few.left - many.left <= 20, `${few.left} and ${many.left} steps are left`);
});

/** Literals that a table of up to 4,096 places has at one of them. */
function meeting(count: number): readonly string[] {
  const literals: string[] = [];
  for (let at = 0; literals.length < count; at += 1) {
    const literal = `p${at}`;
    if ((hashed(emptyLiteral, literal, 0, literal.length) & 4095) === 7) literals.push(literal);
  }
  return literals;
}

test('literals that meet at one place are told apart, and each step past one is counted', (t) => {
  const literals = meeting(150);
  const nodes = nodesOf([...literals.map((one) => `${one}*a*`), ...literals.map((one) => `${one}*b`)]);
  for (const one of literals) {
    const all = found(nodes, { text: `${one}ab` });
    t.true(all.globs.includes(`${one}*a*`) && all.globs.includes(`${one}*b`), one);
    t.true(all.left <= 1_000_000 - literals.length);
    t.true(found(nodes, { text: `${one}ab`, left: 100 }).left < 0);
  }
});
