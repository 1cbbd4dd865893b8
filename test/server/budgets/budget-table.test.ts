import { type BudgetLimits, BudgetTable } from '@signet/server/budgets/budget-table';
import test from 'ava';

/** A tenth of a core, two seconds of work at once: 20 s to fill. */
const limits: BudgetLimits = { workMsPerSecond: 100, burstMs: 2000, inFlight: 4 };
const start = 5000;
const millisecond = 1000;

test('a bucket takes a burst, is in debt after more, and is out of it when the work of the debt has come in', (t) => {
  const table = new BudgetTable(limits);
  const budget = table.of('one', start);
  table.charge(budget, 2000 * millisecond, start);
  t.is(table.waitMs(budget, start), 0, 'exactly the burst');
  table.charge(budget, 1 * millisecond, start);
  t.is(table.waitMs(budget, start), 10, 'one millisecond of work takes ten of time');
  t.is(table.waitMs(budget, start + 9), 1);
  t.is(table.waitMs(budget, start + 10), 0);
});

test('a cost that is known afterwards is owed in full', (t) => {
  const table = new BudgetTable(limits);
  const budget = table.of('one', start);
  table.charge(budget, 3000 * millisecond, start);
  t.is(table.waitMs(budget, start), 10_000);
});

test('a debt is at most one burst, so that a wait has an end', (t) => {
  const table = new BudgetTable(limits);
  const budget = table.of('one', start);
  table.charge(budget, 1_000_000 * millisecond, start);
  t.is(table.waitMs(budget, start), 20_000);
});

test('a bucket that was not used for long holds no more than a burst', (t) => {
  const table = new BudgetTable(limits);
  const budget = table.of('one', start);
  table.charge(budget, 1 * millisecond, start);
  const later = start + 1_000_000;
  table.charge(budget, 2001 * millisecond, later);
  t.is(table.waitMs(budget, later), 10);
});

test('what is given back was never taken, and makes no bucket fuller than full', (t) => {
  const table = new BudgetTable(limits);
  const budget = table.of('one', start);
  table.charge(budget, 500 * millisecond, start);
  table.charge(budget, -500 * millisecond, start);
  table.charge(budget, -500 * millisecond, start);
  table.charge(budget, 2001 * millisecond, start);
  t.is(table.waitMs(budget, start), 10);
});

const full = 65_536;

function filled(chargeOf: (index: number) => number): BudgetTable {
  const table = new BudgetTable(limits);
  for (let index = 0; index < full; index += 1) table.charge(table.of(`key-${index}`, start), chargeOf(index), start);
  return table;
}

test('full buckets make room first, and nobody else is forgotten', (t) => {
  const table = filled((index) => (index % 2 === 0 ? 0 : 100 * millisecond));
  t.is(table.size, full);
  table.of('new', start + 1);
  t.is(table.size, full / 2 + 1);
  t.true(table.of('key-1', start).fullAt > start, 'who owes is still there');
});

test('where all are in use, those that owe least make room: new keys reset no debt that is worth it', (t) => {
  const table = filled((index) => (index + 1) * 40);
  const debtor = table.of(`key-${full - 1}`, start);
  t.is(table.size, full);
  table.of('new', start);
  t.is(table.size, full - full / 8 + 1);
  t.is(table.of(`key-${full - 1}`, start), debtor);
  t.true(table.of(`key-${full / 8}`, start).fullAt > start, 'the least debt that is kept');
  t.is(table.of(`key-${full / 8 - 1}`, start).fullAt, 0, 'the largest debt that is forgotten');
});

test('who has a request in flight is not forgotten', (t) => {
  const table = filled(() => 0);
  const busy = table.of('key-7', start);
  busy.inFlight = 1;
  table.of('new', start + 1);
  t.is(table.of('key-7', start), busy);
});
