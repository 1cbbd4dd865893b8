import { inspect } from 'node:util';
import { PolicyEngine } from '@signet/policy-engine';
import { compileDomain, decideInDomain } from '@signet/policy-engine/policy';
import test from 'ava';

/* Properties of a compiled domain besides its assertions: its revision, its answer for nothing, and what can never match. */

const rule = { role: 'r', action: 'read', resource: 'x' };

test('without a revision no decision has one', (t) => {
  const policy = compileDomain('d', []);
  t.deepEqual<unknown, unknown>(policy.fallback, { status: 'DENY_DOMAIN_EMPTY', domain: 'd' });
  t.deepEqual<unknown, unknown>(policy.exceeded, { status: 'DENY_BUDGET_EXCEEDED', domain: 'd' });
  t.is(policy.revision, undefined);
  const engine = PolicyEngine.fromDomains({ d: [{ name: 'p', assertions: [rule] }] });
  for (const action of ['read', 'write']) {
    t.false('revision' in engine.decideRoles({ domain: 'd', roles: ['r'], action, resource: 'd:x' }));
  }
});

test('whole names are compared where resources of other domains are meant', (t) => {
  const assertions = [{ ...rule, resource: 'e:x' }];
  const ask = (qualified: boolean) =>
    decideInDomain(compileDomain('d', [{ name: 'p', assertions }], { qualified }), ['r'], 'read', 'e:x').status;
  t.deepEqual([ask(true), ask(false)], ['ALLOW', 'DENY_DOMAIN_MISMATCH']);
});

test('a revision is kept as it was given', (t) => {
  const revision = { epoch: 1, version: 2 };
  const policy = compileDomain('d', [{ name: 'p', assertions: [rule] }], { revision });
  revision.version = 3;
  t.deepEqual(policy.revision, { epoch: 1, version: 2 });
  t.deepEqual(policy.fallback.revision, { epoch: 1, version: 2 });
  t.deepEqual(policy.exceeded.revision, { epoch: 1, version: 2 });
  t.true(Object.isFrozen(policy.revision));
  t.is(policy.fallback.status, 'DENY_NO_MATCH');
});

test('rules that name another domain are counted and told, and never match', (t) => {
  const assertions = [
    { ...rule, role: 'e:role.r' },
    { ...rule, resource: 'e:x' },
    { ...rule, role: 'd:role.r', resource: 'd:x' },
  ];
  const policy = compileDomain('d', [{ name: 'p', assertions }]);
  t.is(policy.assertionCount, 3);
  t.is(policy.assertions.length, 1);
  t.deepEqual(policy.problems, [
    'policy `p`: role `e:role.r` names another domain and never matches',
    'policy `p`: resource `e:x` names another domain and never matches',
  ]);
  const whole = compileDomain('d', [{ name: 'p', assertions }], { qualified: true });
  t.is(whole.assertions.length, 2, 'whole names of resources may be of other domains');
  t.is(compileDomain('d', [{ name: 'p', assertions: assertions.slice(0, 1) }]).fallback.status, 'DENY_NO_MATCH');
});

const shapes: [policies: unknown, problem: string][] = [
  [{}, 'policies must be an array'],
  [[null], 'a policy has no name'],
  [[{ name: 7, assertions: [] }], 'a policy has no name'],
  [[{ name: 'p' }], 'policy `p` has no list of assertions'],
  [[{ name: 'p', assertions: {} }], 'policy `p` has no list of assertions'],
  ...[null, undefined, 5, 'read', true].flatMap((input): [unknown, string][] => [
    [[{ name: 'p', assertions: [input] }], 'policy `p` holds what is not an assertion'],
    [[{ name: 'p', assertions: [rule, input] }], 'policy `p` holds what is not an assertion'],
  ]),
  ...['role', 'action', 'resource'].map((field): [unknown, string] => [
    [{ name: 'p', assertions: [{ ...rule, [field]: 7 }] }],
    `policy \`p\` has an assertion whose ${field} is not a string`,
  ]),
  [[{ name: 'p', assertions: [{ ...rule, effect: 'allow' }] }], 'policy `p` has an effect other than ALLOW and DENY'],
];
for (const [policies, problem] of shapes) {
  test(`policies that are none: ${inspect(policies, { depth: 5 })}`, (t) => {
    t.throws(() => Reflect.apply(compileDomain, undefined, ['d', policies]), {
      code: 'bundle-malformed',
      message: problem,
    } as never);
  });
}
