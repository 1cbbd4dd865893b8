import { JsonText, jsonInSteps } from '@signet/server/http/management/json-steps';
import { runAtOnce } from '@signet/server/snapshot/steps';
import test from 'ava';

test('JSON in slices is what JSON.stringify makes', (t) => {
  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `user."${index}"`, at: null }));
  for (const value of [
    {},
    [],
    'text',
    { a: undefined, b: [], 2: true, 1: { c: members(3) } },
    { few: members(999), full: members(1000), more: members(1001), many: members(2500) },
    [[1, 2], members(1001)],
  ]) {
    t.is(runAtOnce(jsonInSteps(value)), JSON.stringify(value));
  }
});

test('a long list is made in slices, and text that is JSON stays as it is', (t) => {
  const steps = jsonInSteps({ items: Array.from({ length: 100_000 }, String) });
  let count = 0;
  while (steps.next().done !== true) count += 1;
  t.true(count >= 100, `${count}`);
  t.is(runAtOnce(jsonInSteps([{ before: new JsonText('{"a":[1]}') }])), '[{"before":{"a":[1]}}]');
});
