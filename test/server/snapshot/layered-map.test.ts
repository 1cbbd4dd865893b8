import { LayeredMap } from '@signet/server/snapshot/layered-map';
import test from 'ava';
import fc from 'fast-check';

interface Value {
  readonly text: string;
}

const key = fc.integer({ min: 0, max: 40 }).map((number) => `k${number}`);
const value = fc.option(
  fc.string({ maxLength: 3 }).map((text): Value => ({ text })),
  { nil: undefined },
);

/** Results of all queries of a map. */
function answers(map: ReadonlyMap<string, Value>) {
  const visited: [string, Value][] = [];
  map.forEach((item, name) => void visited.push([name, item]));
  const sorted = <Item>(items: Iterable<Item>) => [...items].map((item) => JSON.stringify(item)).sort();
  return {
    size: map.size,
    entries: sorted(map),
    same: [sorted(map.entries()), sorted(visited)],
    keys: sorted(map.keys()),
    values: sorted(map.values()),
    found: Array.from({ length: 42 }, (_, index) => [map.has(`k${index}`), map.get(`k${index}`)]),
  };
}

test('changed copies answer as changed maps do, and what they were copied from stays', (t) => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.tuple(key, value), { maxLength: 60 }), { maxLength: 12 }), (steps) => {
      const plain = new Map<string, Value>();
      let layered = LayeredMap.of<string, Value>(new Map());
      for (const changes of steps) {
        const [before, was] = [layered, answers(layered)];
        layered = layered.with(changes);
        for (const [name, item] of changes) {
          if (item === undefined) plain.delete(name);
          else plain.set(name, item);
        }
        t.deepEqual(answers(layered), answers(plain));
        t.deepEqual(answers(before), was);
      }
    }),
    { numRuns: 100 },
  );
});

test('a copy without a change is the map itself', (t) => {
  const one = { text: 'one' };
  const map = LayeredMap.of(new Map([['k1', one]]));
  t.is(map.with([['k1', one]]), map);
  t.is(map.with([['k2', undefined]]), map);
  t.is(LayeredMap.of(map), map);
});

test('many changes are folded into one map, and nothing is lost', (t) => {
  let map = LayeredMap.of<string, Value>(new Map());
  for (let index = 0; index < 1000; index += 1) {
    map = map.with([
      [`k${index}`, { text: String(index) }],
      [`k${index - 500}`, undefined],
    ]);
  }
  t.is(map.size, 500);
  t.deepEqual([...map.keys()].sort(), Array.from({ length: 500 }, (_, index) => `k${index + 500}`).sort());
});
