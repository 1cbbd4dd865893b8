import { PolicyEngine } from '@signet/policy-engine';
import { maxActionLength, maxResourceLength, maxWork } from '@signet/policy-engine/policy';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';

/* Policy that is written to make decisions cost as much as can be: each decision stays within its budget and is a denial. */

interface Rule {
  readonly effect?: 'ALLOW' | 'DENY';
  readonly role: string;
  readonly action: string;
  readonly resource: string;
}

const rule = (more: Partial<Rule>): Rule => ({ role: 'reader', action: 'read', resource: 'movie', ...more });
const many = (count: number, make: (index: number) => Partial<Rule>) =>
  Array.from({ length: count }, (_, index) => rule(make(index)));

function ask(rules: readonly Rule[], more: { roles?: readonly string[]; action?: string; resource?: string } = {}) {
  const engine = PolicyEngine.fromDomains({ evil: [{ name: 'p', assertions: rules }] });
  const asked = { domain: 'evil', roles: ['reader'], action: 'read', resource: `evil:${'a'.repeat(4000)}`, ...more };
  return { engine, decision: engine.decideRoles(asked) };
}

const rules = 20_000;
/** Fifty literals, none of them longer than the one that the resource has. */
const alphabet = Array.from({ length: 50 * 28 }, (_, at) =>
  at % 28 === 27 ? '?' : String.fromCharCode(0x4e00 + at),
).join('');
const hostile: Readonly<Record<string, Parameters<typeof ask>>> = {
  'literals that nearly fit everywhere': [
    many(rules, (index) => ({ resource: `*${'a'.repeat(400)}*${'a'.repeat(390)}b${index}?*` })),
  ],
  'literals between wildcards, each a little longer than the one before': [
    many(900, (index) => ({ resource: `*${'a'.repeat(index + 1)}*${'a'.repeat(20)}b*` })),
  ],
  'one literal that is compared at every place of the resource': [
    [rule({ resource: `x*${'a'.repeat(900)}b*` }), rule({ resource: `*${'a'.repeat(900)}b*` })],
  ],
  'suffixes and prefixes that all fit': [
    many(1000, (index) => ({ resource: `${'a'.repeat(index)}*b*${'a'.repeat(index % 31)}` })),
  ],
  'question marks': [many(rules, (index) => ({ resource: `*${'a?'.repeat(30)}b${index}*` }))],
  'patterns of roles': [
    many(rules, (index) => ({ role: `*${'r'.repeat(100)}*${'r'.repeat(100)}x${index}*` })),
    { roles: Array.from({ length: 100 }, (_, index) => `${'r'.repeat(200)}${index}`), resource: 'evil:movie' },
  ],
  'patterns of actions': [
    many(rules, (index) => ({ action: `*${'w'.repeat(100)}*${'w'.repeat(100)}x${index}*` })),
    { action: 'w'.repeat(maxActionLength), resource: 'evil:movie' },
  ],
  'patterns of many different characters, which are made ready at each comparison': [
    many(200, (index) => ({
      resource: `*${'a'.repeat(28)}*${'a'.repeat(28)}?${'a'.repeat(27)}b*${alphabet}${index}?*`,
    })),
    { resource: `evil:${'a'.repeat(250)}` },
  ],
  'rules that all fit but for their conditions': [
    many(rules, () => ({
      resource: '*a*',
      conditions: { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'a,b,c,d,e,f' } } }] },
    })),
  ],
};

/** These the index tells apart before any pattern is compared. */
const harmless = [
  'question marks',
  'patterns of roles',
  'patterns of actions',
  'rules that all fit but for their conditions',
];

for (const [name, [policy, more]] of Object.entries(hostile)) {
  test(`${name}: an answer within the budget`, (t) => {
    const allow = rule({ resource: '*', action: '*', role: '*', effect: 'ALLOW' });
    const { engine, decision } = ask([allow, ...policy], more);
    const isHarmless = harmless.includes(name);
    t.is(decision.status, isHarmless ? 'ALLOW' : 'DENY_BUDGET_EXCEEDED');
    t.deepEqual(
      engine.health().domains[0]?.problems,
      isHarmless ? [] : ['1 decisions took more work than one may cost and were denied'],
    );
  });
}

test('what a person writes is far from the budget: ten thousand patterns of one resource tree', (t) => {
  const policy = many(10_000, (index) => ({ resource: `shelf/*/${index}/*.jpg`, role: `reader${index % 50}` }));
  const asked = { roles: ['reader7'], resource: 'evil:shelf/a/57/cover.jpg' };
  t.is(ask(policy, asked).decision.status, 'ALLOW');
  t.true(maxWork > 100_000);
});

for (const [name, atLimit, past] of [
  [
    'resource',
    { resource: `evil:${'m'.repeat(maxResourceLength - 5)}` },
    { resource: `evil:${'m'.repeat(maxResourceLength - 4)}` },
  ],
  ['action', { action: 'r'.repeat(maxActionLength) }, { action: 'r'.repeat(maxActionLength + 1) }],
] as const) {
  test(`the ${name} of a request has a bound`, (t) => {
    const open = [rule({ resource: '*', action: '*' })];
    t.is(ask(open, atLimit).decision.status, 'ALLOW');
    t.is(ask(open, past).decision.status, 'DENY_INVALID_PARAMETERS');
  });
}

test('what a service says of itself is read and folded once a decision, not once a rule', (t) => {
  let reads = 0;
  const context = {
    get instances() {
      reads += 1;
      return 'Host';
    },
  };
  const conditions = { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'other' } } }] };
  const policy = many(100, (index) => ({ resource: `*${index % 10}*`, conditions }));
  const engine = PolicyEngine.fromDomains({ evil: [{ name: 'p', assertions: policy }] });
  const asked = { domain: 'evil', roles: ['reader'], action: 'read', resource: 'evil:0123456789', context };
  t.is(engine.decideRoles(asked).status, 'DENY_NO_MATCH');
  t.is(reads, 1);
});

test('several tokens: where the decision for one has no end, no other allows', async (t) => {
  const authority = await createTestAuthority();
  const heavy = many(1000, (index) => ({ role: 'writer', resource: `*aa*${String.fromCharCode(0x4e00 + index)}?*` }));
  const assertions = [rule({ resource: '*' }), ...heavy];
  const engine = authority.engine({ evil: [{ name: 'p', assertions }] }, { requireBound: false });
  const reader = await authority.token({ domain: 'evil', roles: ['reader'] });
  const writer = await authority.token({ domain: 'evil', roles: ['writer'] });
  const decide = async (token: string[]) =>
    (await engine.decide({ token, action: 'read', resource: `evil:${'a'.repeat(4000)}` })).status;
  t.is(await decide([reader]), 'ALLOW');
  t.is(await decide([reader, writer]), 'DENY_BUDGET_EXCEEDED');
  t.is(await decide([writer, reader]), 'DENY_BUDGET_EXCEEDED');
});

test('an explanation is bounded too, where the index tells the patterns of a decision apart for nothing', (t) => {
  const many20 = many(rules, (index) => ({ resource: `*${'a'.repeat(400)}*${'a'.repeat(390)}b?*z${index}a` }));
  const { engine, decision } = ask(many20);
  t.is(decision.status, 'DENY_NO_MATCH');
  const asked = { domain: 'evil', roles: ['reader'], action: 'read', resource: `evil:${'a'.repeat(4000)}` };
  t.like(engine.explainRoles(asked), { status: 'DENY_NO_MATCH', nearMisses: [], changes: [] });
  const few = ask(many20.slice(0, 20)).engine.explainRoles(asked);
  t.is(few.nearMisses.length, 10);
  t.is(few.changes.length, 1);
});

test('an explanation of very many rules that people wrote is whole', (t) => {
  const policy = many(rules, (index) => ({ role: `reader${index % 50}`, resource: `shelf/${index}/*.jpg` }));
  const asked = { domain: 'evil', roles: ['reader7'], action: 'read', resource: 'evil:shelf/8/cover.jpg' };
  const { nearMisses, changes } = ask(policy).engine.explainRoles(asked);
  t.is(nearMisses.length, 10);
  t.deepEqual(changes, [{ kind: 'grant-role', domain: 'evil', role: 'reader8' }]);
});
