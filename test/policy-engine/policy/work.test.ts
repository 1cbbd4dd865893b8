import {
  compileDomain,
  decideInDomain,
  maxActionLength,
  maxResourceLength,
  Work,
  WorkExceededError,
} from '@signet/policy-engine/policy';
import test from 'ava';

/* Cost of a decision in units of work, whatever else the policy holds, and the compared texts. */

type Rules = Parameters<typeof compileDomain>[1][number]['assertions'];

function costOf(assertions: Rules): number {
  const policy = compileDomain('d', [{ name: 'p', assertions }]);
  const { status } = decideInDomain(policy, ['guest', 'reader'], 'read', 'd:x');
  if (status !== 'ALLOW') throw new Error(status);
  return policy.work.spent;
}

const rule = { role: 'reader', action: 'read', resource: 'x' };
const others: Readonly<Record<string, (index: number) => typeof rule>> = {
  'of another resource': (index) => ({ ...rule, resource: `y${index}` }),
  'of the same resource, with another action': (index) => ({ ...rule, action: `write${index}` }),
  'of the same resource and action, for another role': (index) => ({ ...rule, role: `editor${index}` }),
  'of the same resource, half of them for this role with another action': (index) =>
    index % 2 === 0 ? { ...rule, action: `write${index}` } : { ...rule, role: `editor${index}` },
  'of the same resource, a third of them with this action for another role': (index) =>
    index % 3 === 0 ? { ...rule, role: `editor${index}` } : { ...rule, action: `write${index}` },
  'of every resource, with another action': (index) => ({ ...rule, resource: '*', action: `write${index}` }),
  'of other resources, by what stands between stars': (index) => ({ ...rule, resource: `*.y${index}.*` }),
  'of other resources, by what stands behind a star': (index) => ({ ...rule, resource: `*.y${index}` }),
  'of every resource, for another role': (index) => ({ ...rule, resource: '*', role: `editor${index}` }),
};
for (const [what, make] of Object.entries(others)) {
  test(`two thousand rules ${what} cost about as much as twenty`, (t) => {
    const cost = (count: number) => costOf([...Array.from({ length: count }, (_, index) => make(index)), rule]);
    const [few, many] = [cost(20), cost(2000)];
    t.log(`${few} and ${many} units`);
    t.true(many <= few + 30, `${few} units for 20, ${many} for 2,000`);
  });
}

test('texts that are too long, empty or none are not parameters', (t) => {
  const policy = compileDomain('d', [{ name: 'p', assertions: [{ role: 'r', action: '*', resource: '*' }] }]);
  const ask = (action: unknown, resource: unknown) =>
    decideInDomain(policy, ['r'], action as string, resource as string).status;
  t.is(ask('a'.repeat(maxActionLength), 'd:x'), 'ALLOW');
  t.is(ask('a'.repeat(maxActionLength + 1), 'd:x'), 'DENY_INVALID_PARAMETERS');
  t.is(ask('a', `d:${'x'.repeat(maxResourceLength - 2)}`), 'ALLOW');
  t.is(ask('a', `d:${'x'.repeat(maxResourceLength - 1)}`), 'DENY_INVALID_PARAMETERS');
  for (const wrong of ['', undefined, 7, ['a'], {}]) {
    t.is(ask(wrong, 'd:x'), 'DENY_INVALID_PARAMETERS');
    t.is(ask('a', wrong), 'DENY_INVALID_PARAMETERS');
  }
});

test('exactly the limit is spent, and no unit more', (t) => {
  const work = new Work(10);
  work.spend(4);
  work.spend(6);
  t.is(work.spent, 10);
  t.throws(() => work.spend(1), { instanceOf: WorkExceededError });
});

/** Rules for the same role, action and resource, each in another instance; the last of them in ours. */
const inInstances = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const instances = { operator: 'EQUALS', value: index === count - 1 ? 'ours' : `host${index}` };
    return { ...rule, conditions: { conditionsList: [{ conditionsMap: { instances } }] } };
  });
for (const count of [1, 6, 7, 12, 13, 100]) {
  test(`rules that only their conditions tell apart are all looked at: ${count}`, (t) => {
    const policy = compileDomain('d', [{ name: 'p', assertions: inInstances(count) }]);
    t.is(decideInDomain(policy, ['reader'], 'read', 'd:x', { instances: 'ours' }).status, 'ALLOW');
    t.is(decideInDomain(policy, ['reader'], 'read', 'd:x', { instances: 'theirs' }).status, 'DENY_NO_MATCH');
  });
}

test('each value of a condition that is looked at is paid for', (t) => {
  const valued = (value: string): Rules => [
    { ...rule, conditions: { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value } } }] } },
  ];
  const cost = (value: string) => {
    const policy = compileDomain('d', [{ name: 'p', assertions: valued(value) }]);
    decideInDomain(policy, ['guest', 'reader'], 'read', 'd:x', { instances: 'a' });
    return policy.work.spent;
  };
  t.is(cost('a,b,c') - cost('a'), 2);
  t.is(cost('a') - costOf([rule]), 2, 'the condition and its value');
});

test('each prefix of an action that is compared is paid for by its length', (t) => {
  const prefix = `${'a'.repeat(100)}b${'a'.repeat(99)}`;
  const cost = (count: number) => {
    const roles = Array.from({ length: count / 5 }, (_, index) => `r${index}`);
    const assertions = roles.flatMap((role) =>
      Array.from({ length: 5 }, () => ({ ...rule, role, action: `${prefix}*` })),
    );
    const policy = compileDomain('d', [{ name: 'p', assertions }]);
    const { status } = decideInDomain(policy, roles, 'a'.repeat(prefix.length), 'd:x');
    return [status, policy.work.spent] as const;
  };
  const [status, spent] = cost(500);
  t.is(status, 'DENY_NO_MATCH');
  t.true(spent >= 500 * prefix.length, `${spent} units`);
  t.is(cost(2000)[0], 'DENY_BUDGET_EXCEEDED');
});

test('prefixes of roles that end otherwise cost no more than roles that differ', (t) => {
  const teams = Array.from({ length: 12 }, (_, index) => ({ ...rule, role: `the.team.of.department-${index}-*` }));
  const roles = Array.from({ length: 1000 }, (_, index) => `the.writer.of.department.${index}`);
  const policy = compileDomain('d', [{ name: 'p', assertions: teams }]);
  t.is(decideInDomain(policy, roles, 'read', 'd:x').status, 'DENY_NO_MATCH');
  t.true(policy.work.spent < 15_000, `${policy.work.spent} units`);
});

test('a decision that takes too much work is a denial that says so, whatever was found before, and is counted', (t) => {
  const letter = (index: number) => String.fromCharCode(0x4e00 + index);
  const hard = Array.from({ length: 1000 }, (_, index) => ({ ...rule, resource: `*aa*${letter(index)}?*` }));
  const policy = compileDomain('d', [{ name: 'p', assertions: [{ ...rule, role: '*', resource: '*' }, ...hard] }]);
  const resource = `d:${'a'.repeat(4000)}`;
  t.deepEqual(decideInDomain(policy, ['reader'], 'read', resource), { status: 'DENY_BUDGET_EXCEEDED', domain: 'd' });
  t.is(policy.overruns.count, 1);
  t.is(decideInDomain(policy, ['reader'], 'read', 'd:x').status, 'ALLOW');
  t.is(policy.overruns.count, 1);
});
