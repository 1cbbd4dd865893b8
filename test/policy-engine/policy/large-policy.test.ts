import { compileDomain, decideInDomain, explainInDomain, type PolicyInput } from '@signet/policy-engine/policy';
import test from 'ava';
import fc from 'fast-check';
import { policies, request } from '../arbitrary.ts';
import { decidesAsReference } from '../decides-as-reference.ts';

/* Policies of more assertions than are looked at one by one. */

/** Raise for a long run: `SIGNET_PROPERTY_RUNS=100000`. */
const numRuns = Math.ceil(Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 3000) / 4);

/** Assertions that no request of `request` meets. */
const others: PolicyInput = {
  name: 'others',
  assertions: Array.from({ length: 20 }, (_, index) => ({
    role: `r${index}`,
    action: 'read',
    resource: `other.${index}`,
  })),
};

test('property: with other assertions beside them the same ones decide', (t) => {
  fc.assert(
    fc.property(policies, fc.array(request, { minLength: 1, maxLength: 8 }), (list, requests) => {
      const domains = { d: [others, ...list] };
      decidesAsReference(t, domains, requests);
    }),
    { numRuns },
  );
});

const globs = fc.array(
  fc.record({
    effect: fc.constantFrom<('ALLOW' | 'DENY')[]>('ALLOW', 'ALLOW', 'DENY'),
    role: fc.constantFrom('a', 'b', 'ab', '.', 'a.b'),
    action: fc.constantFrom('a', 'A', 'a*', '*b', 'b'),
    resource: fc
      .string({ unit: fc.constantFrom('a', 'b', '.', 'A', '*', '*', '?', '\u{1F600}'), minLength: 1, maxLength: 9 })
      .map((text) => `*${text}b`),
  }),
  { minLength: 13, maxLength: 60 },
);

test('property: of globs for plain roles the same ones decide', (t) => {
  fc.assert(
    fc.property(globs, fc.array(request, { minLength: 1, maxLength: 8 }), (assertions, requests) => {
      decidesAsReference(t, { d: [{ name: 'p', assertions }] }, requests);
    }),
    { numRuns },
  );
});

/** Actions of which a policy has few, so that most that are asked for are none of them. */
const fewActions = fc
  .uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', 'B', '.', 'Z'), minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 4,
  })
  .chain((texts) => fc.subarray([...texts, ...texts.map((text) => `${text}*`)], { minLength: 1 }));

test('property: actions that a policy does not name are told from those that it does', (t) => {
  const asked = fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'B', '.', 'z'), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fewActions, fc.array(asked, { minLength: 1, maxLength: 20 }), (actions, texts) => {
      const assertions = numbered(20).map((one, index) => ({
        ...one,
        role: index % 2 === 0 ? 'a' : 'b',
        action: actions[index % actions.length] ?? '',
        resource: index % 3 === 0 ? 'd:*m' : 'd:item',
      }));
      const requests = [...texts, ...actions].flatMap((action) =>
        [['a'], ['b', 'a']].map((roles) => ({ domain: 'd', roles, action, resource: 'd:item' })),
      );
      decidesAsReference(t, { d: [{ name: 'p', assertions }] }, requests);
    }),
    { numRuns },
  );
});

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ role: `r${index}`, action: 'read', resource: `d:item.${index}` }));

function statusOf(policy: ReturnType<typeof compileDomain>, role: string, action: string, resource: string): string {
  return decideInDomain(policy, [role], action, resource).status;
}

for (const count of [11, 12, 2000]) {
  test(`a name may be empty: ${count}`, (t) => {
    const assertions = [...numbered(count), { role: 'r7', action: 'list', resource: 'd:' }];
    const policy = compileDomain('d', [{ name: 'p', assertions }]);
    t.is(statusOf(policy, 'r7', 'list', 'd:'), 'ALLOW');
    t.is(statusOf(policy, 'r7', 'list', 'D:'), 'ALLOW');
    t.is(statusOf(policy, 'r7', 'read', 'd:'), 'DENY_NO_MATCH');
    t.is(statusOf(policy, 'r7', 'list', 'd::'), 'DENY_NO_MATCH');
    t.is(statusOf(policy, 'r7', 'list', 'd:item.7'), 'DENY_NO_MATCH');
  });
}

for (const count of [12, 13, 2000]) {
  test(`capitals make no difference in actions and resources, and all in roles: ${count}`, (t) => {
    const policy = compileDomain('d', [{ name: 'p', assertions: numbered(count) }]);
    for (const resource of ['d:item.7', 'd:ITEM.7', 'D:item.7', 'item.7', 'Item.7']) {
      t.is(statusOf(policy, 'r7', 'read', resource), 'ALLOW', resource);
      t.is(statusOf(policy, 'r7', 'READ', resource), 'ALLOW', resource);
      t.is(statusOf(policy, 'R7', 'read', resource), 'DENY_NO_MATCH', resource);
      t.is(statusOf(policy, 'r7', 'reaD2', resource), 'DENY_NO_MATCH', resource);
      t.is(statusOf(policy, 'r8', 'read', resource), 'DENY_NO_MATCH', resource);
    }
    t.is(statusOf(policy, 'r7', 'read', 'e:item.7'), 'DENY_DOMAIN_MISMATCH');
    t.is(statusOf(policy, 'r7', 'read', 'd:item.77777'), 'DENY_NO_MATCH');
  });

  test(`what is changed in the assertions after they were compiled changes nothing: ${count}`, (t) => {
    const assertions = numbered(count);
    const policy = compileDomain('d', [{ name: 'p', assertions }]);
    for (const assertion of assertions)
      Object.assign(assertion, { role: '*', action: '*', resource: '*', effect: 'LET' });
    t.is(statusOf(policy, 'r7', 'read', 'd:item.7'), 'ALLOW');
    t.is(statusOf(policy, 'r8', 'read', 'd:item.7'), 'DENY_NO_MATCH');
    t.is(statusOf(policy, 'r7', 'write', 'd:item.7'), 'DENY_NO_MATCH');
  });
}

for (const count of [63, 64, 65, 300, 70_000]) {
  test(`so many assertions for one resource are told apart: ${count}`, (t) => {
    const assertions = numbered(count).map((assertion) => ({ ...assertion, resource: 'd:item' }));
    const denied = { role: 'r5', action: 'read', resource: 'ITEM', effect: 'DENY' as const };
    const policy = compileDomain('d', [{ name: 'p', assertions: [...assertions, denied, ...numbered(20)] }]);
    t.is(statusOf(policy, 'r4', 'read', 'd:item'), 'ALLOW');
    t.is(statusOf(policy, 'r5', 'read', 'd:item'), 'DENY');
    t.is(statusOf(policy, `r${count - 1}`, 'read', 'd:item'), 'ALLOW');
    t.is(statusOf(policy, `r${count}`, 'read', 'd:item'), 'DENY_NO_MATCH');
    t.is(statusOf(policy, 'r7', 'read', 'd:item.7'), 'ALLOW');
  });
}

test('the same assertion makes the same decision object, and an explanation names it', (t) => {
  const policy = compileDomain('d', [{ name: 'p', assertions: numbered(2000) }]);
  const first = decideInDomain(policy, ['r7'], 'read', 'd:item.7');
  t.is(decideInDomain(policy, ['r7'], 'READ', 'item.7'), first);
  t.deepEqual(explainInDomain(policy, ['r7'], 'read', 'd:item.7').decidedBy, {
    policy: 'p',
    assertion: { effect: 'ALLOW', role: 'r7', action: 'read', resource: 'd:item.7' },
    heldRole: 'r7',
  });
  t.is(decideInDomain(policy, ['r7'], 'read', 'd:item.7'), first);
  t.deepEqual(explainInDomain(policy, ['r8'], 'read', 'd:item.7').nearMisses[0]?.assertion, first.assertion);
  t.is(policy.assertions.length, 2000);
});

const wrong: Readonly<Record<string, object>> = {
  'a role that is not a string': { role: 7 },
  'an action that is not a string': { action: null },
  'a resource that is not a string': { resource: undefined },
  'an effect that is not known': { effect: 'LET' },
  'half a character in a resource': { resource: 'd:\ud800' },
  'half a character in a role': { role: 'r\ud800' },
  'too many wildcards': { role: 'r*'.repeat(65) },
  'conditions that are not conditions': { conditions: 7 },
};
for (const [what, change] of Object.entries(wrong)) {
  test(`a large policy is refused for ${what}, as a small one is`, (t) => {
    for (const count of [1, 2000]) {
      const assertions = numbered(count).map((assertion, index) =>
        index === count - 1 ? { ...assertion, ...change } : assertion,
      );
      t.throws(() => compileDomain('d', [{ name: 'p', assertions }]), { code: 'bundle-malformed' });
    }
  });
}

test('assertions of other domains are told, and never match', (t) => {
  const foreign = [
    { role: 'e:role.r7', action: 'read', resource: 'd:item.7' },
    { role: 'r7', action: 'read', resource: 'e:item.7' },
  ];
  const policy = compileDomain('d', [{ name: 'p', assertions: [...foreign, ...numbered(20).slice(8)] }]);
  t.is(policy.problems.length, 2);
  t.is(policy.assertionCount, 14);
  t.is(statusOf(policy, 'r7', 'read', 'd:item.7'), 'DENY_NO_MATCH');
});

/** Globs of one role, of which the last is the one that matches. */
function globsOf(count: number): ReturnType<typeof compileDomain> {
  const assertions = Array.from({ length: count }, (_, index) => ({
    role: 'r',
    action: 'read',
    resource: `*.x${index}.*.end`,
  }));
  return compileDomain('d', [{ name: 'p', assertions: [...assertions, ...numbered(20)] }]);
}
test('globs of one role are told apart, whether they are 12 or 13 and names have 128 characters, 256 or one more', (t) => {
  for (const count of [1, 12, 13, 40]) {
    const policy = globsOf(count);
    t.is(statusOf(policy, 'r', 'read', `d:a.x${count - 1}.b.end`), 'ALLOW');
    t.is(statusOf(policy, 'r', 'read', `d:A.X${count - 1}.b.END`), 'ALLOW');
    t.is(statusOf(policy, 'r', 'read', `d:a.x${count}.b.end`), 'DENY_NO_MATCH');
    t.is(statusOf(policy, 'r0', 'read', 'd:a.x0.b.end'), 'DENY_NO_MATCH');
    for (const length of [128, 129, 256, 257]) {
      t.is(statusOf(policy, 'r', 'read', `d:${'a.x0.'.padEnd(length - 4, 'b')}.end`), 'ALLOW');
    }
  }
});

test('a pattern of 256 characters and one of 257 are compared alike', (t) => {
  for (const length of [256, 257]) {
    const resource = `*${'b'.repeat(length - 2)}*`;
    const policy = compileDomain('d', [
      { name: 'p', assertions: [{ role: 'r', action: 'read', resource }, ...numbered(20)] },
    ]);
    t.is(statusOf(policy, 'r', 'read', `d:a${'b'.repeat(length - 2)}c`), 'ALLOW');
    t.is(statusOf(policy, 'r', 'read', `d:a${'b'.repeat(length - 3)}c`), 'DENY_NO_MATCH');
  }
});

test('assertions are listed in the order of the policies, whatever they need to be compared', (t) => {
  const [role, action] = ['r', 'read'];
  const inputs = ['*', 'A', 'a', 'b', 'x*y', 'B', 'p*', 'c'].map((resource) => ({ role, action, resource }));
  const assertions = [...inputs, ...numbered(20), ...inputs.toReversed(), { role: 'r*', action, resource: 'a' }];
  const policy = compileDomain('d', [{ name: 'p', assertions }]);
  const listed = () =>
    policy.assertions.map(({ role, action, resource }) => ({ role: role.text, action: action.text, resource }));
  t.deepEqual(listed(), assertions);
  t.is(decideInDomain(policy, ['r'], 'read', 'd:b').assertion?.resource, '*');
  t.deepEqual(listed(), assertions);
});

test('of assertions for one resource the first one decides, however it was written', (t) => {
  for (const [first, ...rest] of [
    ['item', 'ITEM', 'd:item'],
    ['Item', 'item', 'd:ITEM'],
    ['d:item', 'Item', 'item'],
  ]) {
    const assertions = [first, ...rest].map((resource = '') => ({ role: 'r', action: 'read', resource }));
    const policy = compileDomain('d', [{ name: 'p', assertions: [...numbered(20), ...assertions] }]);
    for (const asked of ['d:item', 'ITEM', 'd:Item']) {
      t.is(decideInDomain(policy, ['r'], 'read', asked).assertion?.resource, first);
      t.is(statusOf(policy, 'r', 'read', `${asked}s`), 'DENY_NO_MATCH');
    }
  }
});

for (const count of [16, 17, 40]) {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);

  test(`of prefixes of so many lengths the first one decides, in any case: ${count}`, (t) => {
    const assertions = numbers.map((length) => ({ role: 'r', action: 'read', resource: `${'x'.repeat(length)}*` }));
    const policy = compileDomain('d', [{ name: 'p', assertions }]);
    t.is(decideInDomain(policy, ['r'], 'read', `d:${'x'.repeat(99)}`).assertion?.resource, 'x*');
    t.is(statusOf(policy, 'r', 'write', 'd:xx'), 'DENY_NO_MATCH');
    t.is(statusOf(policy, 'r', 'read', 'd:Xx'), 'ALLOW');
  });

  test(`equal assertions are one, and others beside them are found: ${count}`, (t) => {
    const equal = numbers.map(() => ({ role: 'r', action: 'read', resource: 'x' }));
    const policy = compileDomain('d', [
      { name: 'p', assertions: [...equal, { role: 'r', action: 'write', resource: 'x', effect: 'DENY' }] },
    ]);
    t.is(statusOf(policy, 'r', 'read', 'd:x'), 'ALLOW');
    t.is(statusOf(policy, 'r', 'write', 'd:x'), 'DENY');
    t.is(statusOf(policy, 'r', 'list', 'd:x'), 'DENY_NO_MATCH');
  });
}

test('globs are found by what stands between their stars, however long that is', (t) => {
  for (const length of [2, 29, 30, 31, 32, 33, 100]) {
    const inner = 'b'.repeat(length);
    const assertions = Array.from({ length: 20 }, (_, index) => ({
      role: 'r',
      action: 'read',
      resource: `*${inner}.x${index}.*`,
    }));
    const policy = compileDomain('d', [{ name: 'p', assertions }]);
    for (const before of ['', 'b', 'a', `${inner}.x`, `${inner}.x7`]) {
      t.is(statusOf(policy, 'r', 'read', `d:${before}${inner}.x7.end`), 'ALLOW');
      t.is(statusOf(policy, 'r', 'read', `d:${before}${inner}.X7.`), 'ALLOW');
      t.is(statusOf(policy, 'r', 'read', `d:${before}${inner.slice(1)}.x7`), 'DENY_NO_MATCH');
    }
  }
});

for (const count of [1, 12, 2000]) {
  test(`a DENY of the resource without a name holds: ${count}`, (t) => {
    const denied = { effect: 'DENY' as const, role: 'r', action: 'read', resource: 'd:' };
    const allowed = { role: 'r', action: 'read', resource: '*' };
    const policy = compileDomain('d', [{ name: 'p', assertions: [allowed, denied, ...numbered(count - 1)] }]);
    t.is(statusOf(policy, 'r', 'read', 'd:'), 'DENY');
    t.is(statusOf(policy, 'r', 'read', 'd:item'), 'ALLOW');
  });
}
