import { type Impact, impactInSteps } from '@signet/server/impact/impact';
import { type ImpactBounds, noBounds, usualBounds, Work } from '@signet/server/impact/work';
import { runAtOnce } from '@signet/server/steps/steps';
import test from 'ava';
import { type PlainDomain, plainSnapshot } from '#support/plain-domains';

type Rules = NonNullable<PlainDomain['rules']>;

const list = (count: number, prefix: string) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Impact of giving these assertions to `members` members of one role. */
function impactOfRules(rules: Rules, members: number, bounds: Partial<ImpactBounds> = {}, work?: Work): Impact {
  const roles = { r: list(members, 'bb.s').map((name) => ({ name, disabled: false })) };
  const [before, after] = [[], rules].map((some) => plainSnapshot([{ name: 'aa', roles, rules: some }], 0));
  if (before === undefined || after === undefined) throw new Error('two sides');
  return runAtOnce(impactInSteps(before, after, 0, work ?? new Work({ ...noBounds, ...bounds })));
}

const exact = (count: number): Rules => list(count, 'item').map((name) => ['ALLOW', 'r', 'read', name] as const);

test('so many changes are listed, and one more is counted', (t) => {
  const all = impactOfRules(exact(4), 5, { maxListed: 20 });
  t.is(all.changes.length, 20);
  t.is(all.totals, undefined);
  const most = impactOfRules(exact(4), 5, { maxListed: 19 });
  t.deepEqual(most.changes, all.changes.slice(0, 19));
  t.deepEqual(most.totals, { gains: 20, losses: 0, isExact: true });
});

test('so many characters are listed, and not one more', (t) => {
  const all = impactOfRules(exact(2), 5);
  const characters = all.changes.reduce((sum, change) => sum + JSON.stringify(change).length, 0);
  t.is(impactOfRules(exact(2), 5, { maxListedCharacters: characters }).totals, undefined);
  const most = impactOfRules(exact(2), 5, { maxListedCharacters: characters - 1 });
  t.is(most.changes.length, 9);
  t.deepEqual(most.totals, { gains: 10, losses: 0, isExact: true });
});

for (const [bound, cost] of [
  ['maxSteps', 'steps'],
  ['maxKept', 'kept'],
] as const) {
  test(`${bound}: what is found within it is exact, and past it there is at least so much`, (t) => {
    const work = new Work();
    const all = impactOfRules(exact(3), 3, {}, work);
    t.deepEqual(impactOfRules(exact(3), 3, { [bound]: work.cost()[cost] }), all);
    const { totals } = impactOfRules(exact(3), 3, { [bound]: work.cost()[cost] - 1 });
    t.false(totals?.isExact);
    t.true((totals?.gains ?? 9) < 9);
  });
}

test('losses are counted as losses', (t) => {
  const roles = { r: [{ name: 'bb.s', disabled: false }] };
  const [before, after] = [exact(3), exact(1)].map((rules) => plainSnapshot([{ name: 'aa', roles, rules }], 0));
  if (before === undefined || after === undefined) throw new Error('two sides');
  const work = new Work({ ...noBounds, maxListed: 0 });
  const { changes, totals } = runAtOnce(impactInSteps(before, after, 0, work));
  t.deepEqual([changes, totals], [[], { gains: 0, losses: 2, isExact: true }]);
});

const hostile: Readonly<Record<string, Rules>> = {
  'exact resources': exact(3000),
  'wildcards on both sides': list(3000, 'w').map((text) => ['ALLOW', 'r', 'read', `*${text}*`] as const),
  'prefixes of actions and resources': list(3000, 'p').map((text) => ['ALLOW', 'r', `${text}*`, `${text}*`] as const),
  'single characters': list(3000, 'q').map(
    (_, index) => ['ALLOW', 'r', `${'?'.repeat(index % 60)}*`, `${'?'.repeat(index % 50)}a*`] as const,
  ),
};

for (const [name, rules] of Object.entries(hostile)) {
  test(`20,000 members by 3,000 rules with ${name} stay within the usual bounds`, (t) => {
    const work = new Work(usualBounds);
    const { changes, totals } = impactOfRules(rules, 20_000, {}, work);
    t.true(changes.length <= usualBounds.maxListed);
    t.not(totals, undefined);
    const { steps, kept } = work.cost();
    t.log(`${steps} steps, ${kept} kept, ${JSON.stringify(totals)}`);
    // What goes past a bound is counted before it is done.
    t.true(steps <= usualBounds.maxSteps + 10_000_000 && kept <= usualBounds.maxKept + 10_000);
  });
}
