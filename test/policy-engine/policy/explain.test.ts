import { PolicyEngine, type PolicyInput, type Status } from '@signet/policy-engine';
import { type Change, compileDomain, explainInDomain } from '@signet/policy-engine/policy';
import test from 'ava';
import fc from 'fast-check';
import { policies, request } from '../arbitrary.ts';

type Request = Parameters<typeof PolicyEngine.prototype.decideRoles>[0];

/** Does what a change says, to the caller's roles or to the policies. */
function apply(change: Change, list: PolicyInput[], asked: Request): { list: PolicyInput[]; asked: Request } {
  switch (change.kind) {
    case 'grant-role':
      return { list, asked: { ...asked, roles: [...asked.roles, change.role] } };
    case 'add-assertion':
      return { list: [...list, { name: 'd:policy.added', assertions: [change.assertion] }], asked };
    case 'remove-assertion': {
      const wanted = JSON.stringify(change.assertion);
      let isDone = false;
      const changed = list.map(({ name, assertions }) => ({
        name,
        assertions: assertions.filter((assertion) => {
          const { id, effect = 'ALLOW', role, action, resource, conditions } = assertion;
          const text = JSON.stringify({ id, effect, role, action, resource, conditions });
          if (isDone || name !== change.policy || text !== wanted) return true;
          isDone = true;
          return false;
        }),
      }));
      return { list: changed, asked };
    }
  }
}

function statusOf(list: PolicyInput[], asked: Request): Status {
  return PolicyEngine.fromDomains({ d: list }).decideRoles(asked).status;
}

const changeable: ReadonlySet<Status> = new Set<Status>([
  'DENY',
  'DENY_NO_MATCH',
  'DENY_DOMAIN_EMPTY',
  'DENY_TOKEN_INVALID',
]);
const numRuns = Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 3000);

test('property: the changes flip the denial, and none of them can be left out', (t) => {
  let denials = 0;
  fc.assert(
    fc.property(policies, fc.array(request, { minLength: 1, maxLength: 6 }), (list, requests) => {
      for (const one of requests) {
        const asked = {
          ...one,
          domain: 'd',
          action: one.action || 'a',
          resource: one.resource.replace(/^.*:|^$/, 'd:a'),
        };
        const policy = compileDomain('d', list);
        const explained = explainInDomain(policy, asked.roles, asked.action, asked.resource, asked.context);
        t.is(explained.status, statusOf(list, asked));
        if (!changeable.has(explained.status)) continue;
        denials += 1;
        const flip = (changes: readonly Change[]): Status => {
          let state: { list: PolicyInput[]; asked: Request } = { list, asked };
          for (const change of changes) state = apply(change, state.list, state.asked);
          return statusOf(state.list, state.asked);
        };
        t.is(flip(explained.changes), 'ALLOW');
        for (const left of explained.changes) {
          t.not(flip(explained.changes.filter((change) => change !== left)), 'ALLOW');
        }
      }
    }),
    { numRuns: Math.ceil(numRuns / 4) },
  );
  t.true(denials > numRuns / 6);
});

const list: PolicyInput[] = [
  {
    name: 'catalog:policy.p',
    assertions: [
      { role: 'reader', action: 'read', resource: 'movie' },
      { role: 'editor', action: '*', resource: 'catalog:*' },
      { role: 'temp*', action: 'read', resource: 'movie', effect: 'DENY' },
    ],
  },
];
const catalog = compileDomain('catalog', list);

test('an ALLOW names its assertion and the role that brought it in', (t) => {
  t.deepEqual(explainInDomain(catalog, ['guest', 'reader'], 'read', 'movie'), {
    status: 'ALLOW',
    decidedBy: {
      policy: 'catalog:policy.p',
      assertion: { effect: 'ALLOW', role: 'reader', action: 'read', resource: 'movie' },
      heldRole: 'reader',
    },
    nearMisses: [],
    changes: [],
  });
});

test('a denial names the nearest misses by what is missing, and a role that would do', (t) => {
  t.deepEqual(explainInDomain(catalog, ['guest'], 'read', 'series'), {
    status: 'DENY_NO_MATCH',
    nearMisses: [
      {
        policy: 'catalog:policy.p',
        assertion: { effect: 'ALLOW', role: 'editor', action: '*', resource: 'catalog:*' },
        misses: ['role'],
      },
      {
        policy: 'catalog:policy.p',
        assertion: { effect: 'ALLOW', role: 'reader', action: 'read', resource: 'movie' },
        misses: ['role', 'resource'],
      },
    ],
    changes: [{ kind: 'grant-role', domain: 'catalog', role: 'editor' }],
  });
});

test('a DENY names the assertion that has to go', (t) => {
  const denying = { effect: 'DENY', role: 'temp*', action: 'read', resource: 'movie' } as const;
  t.deepEqual(explainInDomain(catalog, ['tempo'], 'read', 'movie'), {
    status: 'DENY',
    decidedBy: { policy: 'catalog:policy.p', assertion: denying, heldRole: 'tempo' },
    nearMisses: [
      { policy: 'catalog:policy.p', assertion: denying, misses: ['effect'] },
      {
        policy: 'catalog:policy.p',
        assertion: { effect: 'ALLOW', role: 'reader', action: 'read', resource: 'movie' },
        misses: ['role'],
      },
      {
        policy: 'catalog:policy.p',
        assertion: { effect: 'ALLOW', role: 'editor', action: '*', resource: 'catalog:*' },
        misses: ['role'],
      },
    ],
    changes: [
      { kind: 'remove-assertion', policy: 'catalog:policy.p', assertion: denying },
      { kind: 'grant-role', domain: 'catalog', role: 'reader' },
    ],
  });
});

test('of two roles that would do, the one with the narrower rule is proposed', (t) => {
  const wide = { effect: 'ALLOW', role: 'admin', action: '*', resource: 'catalog:*' } as const;
  const narrow = { effect: 'ALLOW', role: 'reader', action: 'read', resource: 'catalog:mov*' } as const;
  const policy = compileDomain('catalog', [{ name: 'p', assertions: [wide, narrow] }]);
  const { nearMisses, changes } = explainInDomain(policy, ['guest'], 'read', 'movie');
  t.deepEqual(
    nearMisses.map(({ assertion }) => assertion),
    [narrow, wide],
  );
  t.deepEqual(changes, [{ kind: 'grant-role', domain: 'catalog', role: 'reader' }]);
});

test('where no role would do, an assertion is proposed', (t) => {
  t.deepEqual(explainInDomain(compileDomain('catalog', []), ['guest'], 'Write', 'Catalog:Movie').changes, [
    {
      kind: 'add-assertion',
      domain: 'catalog',
      assertion: { effect: 'ALLOW', role: 'catalog:role.guest', action: 'write', resource: 'catalog:movie' },
    },
  ]);
});

test('for a caller without roles, assertions are only counted until it is known which have to go', (t) => {
  const rule = (effect: 'ALLOW' | 'DENY', role: string) => ({
    effect,
    role: `d:role.${role}`,
    action: 'x',
    resource: 'd:y',
  });
  const many = Array.from({ length: 200 }, (_, index) => index);
  const compiled = compileDomain('d', [
    {
      name: 'd:policy.p',
      assertions: [
        ...many.map((index) => rule('ALLOW', `a${index}`)),
        rule('ALLOW', 'b'),
        ...many.map(() => rule('DENY', 'a*')),
        rule('DENY', 'b*'),
      ],
    },
  ]);
  let described = 0;
  const assertions = compiled.assertions.map((assertion) =>
    Object.create(assertion, {
      policy: {
        get: () => {
          described += 1;
          return assertion.policy;
        },
      },
    }),
  );
  const policy = Object.create(compiled, { assertions: { value: assertions } });
  t.deepEqual(explainInDomain(policy, [], 'x', 'd:y').changes, [
    { kind: 'remove-assertion', policy: 'd:policy.p', assertion: rule('DENY', 'b*') },
    { kind: 'grant-role', domain: 'd', role: 'b' },
  ]);
  // The near misses, and the one that has to go.
  t.is(described, 11);
});
