import { MemberList } from '@signet/server/snapshot/member-list';
import type { Member } from '@signet/server/snapshot/role-snapshot';
import test from 'ava';
import fc from 'fast-check';

const nameOf = (index: number) => `m.${String(index).padStart(5, '0')}`;
const membersOf = (indices: Iterable<number>): Member[] =>
  [...new Set(indices)].sort((a, b) => a - b).map((index) => ({ name: nameOf(index), disabled: false }));

/** What the list shall be: a plain map, changed in the same way. */
function changed(members: readonly Member[], names: readonly string[], fresh: readonly Member[]): Member[] {
  const kept = members.filter(({ name }) => !names.includes(name));
  return [...kept, ...fresh].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const indices = fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 300 });
const steps = fc.array(fc.tuple(indices, indices), { minLength: 1, maxLength: 8 });

test('changed copies have what they shall, in order, and what they were copied from stays', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2500 }), steps, (size, changes) => {
      let plain = membersOf(Array.from({ length: size }, (_, index) => index));
      let list = MemberList.of(plain);
      for (const [touched, there] of changes) {
        const [before, was] = [list, plain];
        const names = membersOf([...touched, ...there]).map(({ name }) => name);
        const fresh = membersOf(there).map((member) => ({ ...member, disabled: true }));
        list = list.with(names, fresh);
        plain = changed(plain, names, fresh);
        t.deepEqual([...list], plain);
        t.deepEqual([...before], was);
      }
    }),
    { numRuns: 60 },
  );
});

test('a list that grows member by member, and shrinks to nothing', (t) => {
  let list = MemberList.of([]);
  const all = membersOf(Array.from({ length: 3000 }, (_, index) => index));
  for (const [index] of all.entries()) {
    const member = all[(index * 1117) % all.length];
    if (member !== undefined) list = list.with([member.name], [member]);
  }
  t.deepEqual([...list], all);
  for (const { name } of all) list = list.with([name], []);
  t.deepEqual([...list], []);
  t.deepEqual([...list.with(['m.1'], [{ name: 'm.1', disabled: false }])], [{ name: 'm.1', disabled: false }]);
});

test('a list without a change is the list itself', (t) => {
  const list = MemberList.of(membersOf([1, 2, 3]));
  t.is(list.with([nameOf(4), nameOf(0)], []), list);
  t.is(MemberList.of(list), list);
});
