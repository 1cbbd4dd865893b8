import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Conditions as a bundle has them: which of them hold by themselves, and which nobody here can evaluate. */

const { compileConditions } = await internals<{ compileConditions(wire: unknown): { kind: string } }>(
  'policy-engine/src/policy/conditions.ts',
);

const known = { conditionsMap: { instances: { operator: 'EQUALS', value: 'h1' } } };
const strange = { conditionsMap: { instances: { operator: 'SOUNDS_LIKE', value: 'h1' } } };
const empty = { conditionsMap: {} };

const forms: [note: string, conditionsList: unknown[] | undefined, kind: string][] = [
  ['no list', undefined, 'none'],
  ['an empty list', [], 'none'],
  ['a condition', [known], 'known'],
  ['one of an operator of a later version', [strange], 'unknown'],
  ['a set that always holds', [empty], 'none'],
  ['a set that always holds, before one that cannot be evaluated', [empty, strange], 'none'],
  ['a set that cannot be evaluated, before one that always holds', [strange, empty], 'unknown'],
  ['a set that is none', [7], 'unknown'],
  ['null for a set', [null], 'unknown'],
  ['a list for a map', [{ conditionsMap: [7] }], 'unknown'],
];
for (const [note, conditionsList, kind] of forms) {
  test(`conditions: ${note}`, (t) => {
    t.is(compileConditions(conditionsList && { conditionsList }).kind, kind);
  });
}
