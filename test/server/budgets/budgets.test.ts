import { type BudgetDeps, createBudgets } from '@signet/server/budgets/budgets';
import test from 'ava';

const second = 1_000_000;

/** A principal has 10 s of work at once and half of a core after that; a certificate a fifth of it. Strangers as much, an address a quarter. */
function world(more: Partial<BudgetDeps> = {}) {
  const time = { now: 1000 };
  const group = { workMsPerSecond: 500, burstMs: 10_000, inFlight: 10 };
  const budgets = createBudgets({
    principal: { ...group, share: 0.2 },
    strangers: { ...group, inFlight: 8, share: 0.25 },
    isShared: () => false,
    monotonic: { now: () => time.now },
    ...more,
  });
  return { budgets, time };
}

test('a certificate uses up its share of its principal, and nothing of the others', (t) => {
  const { budgets, time } = world();
  const looping = () => budgets.ofCertificate('media.player', '01');
  looping().charge(2 * second);
  t.is(looping().refusal(), undefined, 'exactly its share');
  looping().charge(1000);
  t.deepEqual(looping().refusal(), { payer: 'certificate', name: 'media.player', over: 'work', waitMs: 10 });
  t.is(budgets.ofCertificate('media.player', '02').refusal(), undefined);
  time.now += 10;
  t.is(looping().refusal(), undefined);
});

test('a principal that gets itself more certificates uses up its own budget, and nothing of another principal', (t) => {
  const { budgets } = world();
  for (let index = 0; index < 5; index += 1) budgets.ofCertificate('media.player', `0${index}`).charge(2 * second);
  budgets.ofCertificate('media.player', '05').charge(1000);
  t.like(budgets.ofCertificate('media.player', '06').refusal(), { payer: 'principal', name: 'media.player' });
  t.is(budgets.ofCertificate('media.studio', '00').refusal(), undefined);
});

test('two principals with one serial number are two', (t) => {
  const { budgets } = world();
  budgets.ofCertificate('media.player', '01').charge(3 * second);
  t.is(budgets.ofCertificate('media.studio', '01').refusal(), undefined);
});

test('a certificate and a principal have as many requests in flight as they may, and no more', (t) => {
  const { budgets } = world();
  const enter = (certificate: string) => budgets.ofCertificate('media.player', certificate).enter();
  t.is(enter('0'), undefined);
  t.is(enter('0'), undefined);
  t.deepEqual(enter('0'), { payer: 'certificate', name: 'media.player', over: 'in-flight', waitMs: 1000 });
  for (let index = 1; index < 5; index += 1) {
    t.is(enter(String(index)), undefined);
    t.is(enter(String(index)), undefined);
  }
  t.like(enter('5'), { payer: 'principal', over: 'in-flight' });
  budgets.ofCertificate('media.player', '0').leave();
  t.is(enter('5'), undefined);
});

test('what is kept for those that wait is a fifth of what strangers have, and a second of it at once', (t) => {
  const { budgets, time } = world();
  for (let index = 0; index < 5; index += 1) budgets.ofStranger(`203.0.113.${index}`).charge(2.5 * second);
  t.is(budgets.reserve.refusal(), undefined, 'a budget of its own');
  budgets.reserve.charge(0.1 * second);
  t.is(budgets.reserve.refusal(), undefined, 'exactly a second of it');
  budgets.reserve.charge(1000);
  t.like(budgets.reserve.refusal(), { waitMs: 10 });
  time.now += 10;
  t.is(budgets.reserve.refusal(), undefined);
});

test('an address uses up its share of the strangers', (t) => {
  const { budgets } = world();
  budgets.ofStranger('203.0.113.1').charge(2.501 * second);
  t.like(budgets.ofStranger('203.0.113.1').refusal(), { payer: 'address', name: '203.0.113.1' });
  t.is(budgets.ofStranger('203.0.113.2').refusal(), undefined);
});

test('many addresses use up what all strangers have together, which keeps out no address that was known lately', (t) => {
  const { budgets, time } = world();
  budgets.remember('198.51.100.1');
  for (let index = 0; index < 5; index += 1) budgets.ofStranger(`203.0.113.${index}`).charge(2.1 * second);
  t.like(budgets.ofConnection('203.0.113.9').refusal(), { payer: 'strangers' });
  t.is(budgets.ofConnection('198.51.100.1').refusal(), undefined);
  t.like(budgets.ofStranger('198.51.100.1').refusal(), { payer: 'strangers' }, 'it only may connect');
  budgets.ofConnection('198.51.100.1').charge(2.6 * second);
  t.like(budgets.ofConnection('198.51.100.1').refusal(), { payer: 'address' }, 'within its own share');
  time.now += 3_600_001;
  budgets.ofStranger('203.0.113.1').charge(100 * second);
  budgets.ofStranger('203.0.113.2').charge(100 * second);
  t.like(budgets.ofConnection('198.51.100.1').refusal(), { payer: 'strangers' }, 'an hour later it is a stranger');
});

test('an address that many clients have is not a stranger: it has a whole budget, and takes none from the others', (t) => {
  const { budgets } = world({ isShared: (address) => address === '10.0.0.1' });
  budgets.ofStranger('10.0.0.1').charge(10 * second);
  t.is(budgets.ofStranger('10.0.0.1').refusal(), undefined);
  budgets.ofStranger('10.0.0.1').charge(1000);
  t.deepEqual(budgets.ofConnection('10.0.0.1').refusal(), {
    payer: 'shared-address',
    name: '10.0.0.1',
    over: 'work',
    waitMs: 2,
  });
  t.is(budgets.ofStranger('203.0.113.1').refusal(), undefined);
});

test('addresses that were known are forgotten in their order where there are more than are kept', (t) => {
  const { budgets } = world();
  budgets.ofStranger('203.0.113.1').charge(2.5 * second);
  for (let index = 0; index < 4; index += 1) budgets.ofStranger(`203.0.113.${index}`).charge(2.5 * second);
  const address = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  for (let index = 0; index < 65_536; index += 1) budgets.remember(address(index));
  t.is(budgets.ofConnection(address(0)).refusal(), undefined);
  budgets.remember(address(65_536));
  t.like(budgets.ofConnection(address(0)).refusal(), { payer: 'strangers' });
  t.is(budgets.ofConnection(address(1)).refusal(), undefined);
});

test('an account is current until a table has to forget what it pays from', (t) => {
  const { budgets } = world();
  const account = budgets.ofCertificate('media.player', '01');
  t.true(account.isCurrent());
  for (let index = 0; index < 65_536; index += 1) budgets.ofCertificate('media.player', `other ${index}`);
  t.false(account.isCurrent());
  account.charge(3 * second);
  t.is(budgets.ofCertificate('media.player', '01').refusal(), undefined, 'it has another one');
});
