import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Each member of a bundle by itself: what is refused names the member, so that no other rule can stand in for it. */

const { decodePayload } = await internals<{ decodePayload(value: unknown): Generator<void, object> }>(
  'policy-engine/src/bundle/decode-payload.ts',
);

function decode(value: unknown): object {
  const steps = decodePayload(value);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const assertion = { role: 'r', resource: 'x', action: 'read', effect: 'ALLOW' };
const policy = { name: 'd:policy.p', assertions: [assertion] };
const times = {
  modified: '1970-01-01T00:00:01.000Z',
  issued: '1970-01-01T00:00:02.000Z',
  expires: '1970-01-01T00:00:03.000Z',
};
const good = { epoch: 0, version: 1, ...times, policyData: { domain: 'd', policies: [policy] } };
const withPolicy = (change: object) => ({ ...good, policyData: { domain: 'd', policies: [{ ...policy, ...change }] } });
const withAssertion = (change: object) => withPolicy({ assertions: [{ ...assertion, ...change }] });
const withConditions = (conditions: unknown) => withAssertion({ conditions });
const set = { conditionsMap: { instances: { operator: 'EQUALS', value: 'a' } } };

const malformed: [note: string, value: unknown, problem: string][] = [
  ['null', null, '`payload` is no object'],
  ['a list', [], '`payload` is no object'],
  ['a string', 'x', '`payload` is no object'],
  ['chosen versions', { ...good, policyVersions: {} }, 'payload holds chosen versions of policies, not those in force'],
  ['policy data that is a list', { ...good, policyData: [] }, '`policyData` is no object'],
  ['a domain that is a number', { ...good, policyData: { domain: 7, policies: [] } }, '`policyData.domain` is no text'],
  [
    'policies that are an object',
    { ...good, policyData: { domain: 'd', policies: {} } },
    '`policyData.policies` is no list',
  ],
  ['an epoch that is a string', { ...good, epoch: '0' }, '`epoch` is no whole number'],
  ['an epoch below nought', { ...good, epoch: -1 }, '`epoch` is no whole number'],
  ['a version with a fraction', { ...good, version: 0.5 }, '`version` is no whole number'],
  ['a time of change that is a number', { ...good, modified: 1 }, '`modified` is no time'],
  ['a time of issue that is no time', { ...good, issued: 'now' }, '`issued` is no time'],
  ['no expiry', { ...good, expires: undefined }, '`expires` is no time'],
  ['an expiry at the time of issue', { ...good, expires: good.issued }, '`expires` is not after `issued`'],
  ['a policy that is null', { ...good, policyData: { domain: 'd', policies: [null] } }, '`policy` is no object'],
  ['a policy without a name', withPolicy({ name: undefined }), '`policy.name` is no text'],
  ['a time of change of a policy that is a number', withPolicy({ modified: 1 }), '`policy.modified` is no text'],
  ['a version of a policy that is a number', withPolicy({ version: 1 }), '`policy.version` is no text'],
  ['a policy that is active by a string', withPolicy({ active: 'true' }), '`policy.active` is no truth value'],
  [
    'a policy whose case counts by a number',
    withPolicy({ caseSensitive: 1 }),
    '`policy.caseSensitive` is no truth value',
  ],
  ['assertions that are null', withPolicy({ assertions: null }), '`policy.assertions` is no list'],
  ['an assertion that is a string', withPolicy({ assertions: ['x'] }), '`assertion` is no object'],
  ['a role that is a number', withAssertion({ role: 7 }), '`assertion.role` is no text'],
  ['no resource', withAssertion({ resource: undefined }), '`assertion.resource` is no text'],
  ['an action that is a list', withAssertion({ action: ['read'] }), '`assertion.action` is no text'],
  ['no effect', withAssertion({ effect: undefined }), '`assertion.effect` must be ALLOW or DENY'],
  ['an effect in lower case', withAssertion({ effect: 'allow' }), '`assertion.effect` must be ALLOW or DENY'],
  ['a number of an assertion that is a string', withAssertion({ id: '1' }), '`assertion.id` is no whole number'],
  [
    'an assertion whose case counts by a string',
    withAssertion({ caseSensitive: 'no' }),
    '`assertion.caseSensitive` is no truth value',
  ],
  ['conditions that are null', withConditions(null), '`conditions` is no object'],
  ['conditions without a list', withConditions({}), '`conditions.conditionsList` is no list'],
  ['a set that is null', withConditions({ conditionsList: [null] }), '`condition` is no object'],
  ['a set without a map', withConditions({ conditionsList: [{}] }), '`condition.conditionsMap` is no object'],
  [
    'a condition that is a string',
    withConditions({ conditionsList: [{ conditionsMap: { a: 'b' } }] }),
    '`condition` is no object',
  ],
  [
    'a condition without an operator',
    withConditions({ conditionsList: [{ conditionsMap: { a: { value: 'b' } } }] }),
    '`condition.operator` is no text',
  ],
  [
    'a condition without a value',
    withConditions({ conditionsList: [{ conditionsMap: { a: { operator: 'b' } } }] }),
    '`condition.value` is no text',
  ],
  [
    'a number of a set that is a string',
    withConditions({ conditionsList: [{ ...set, id: '1' }] }),
    '`condition.id` is no whole number',
  ],
];
for (const [note, value, problem] of malformed) {
  test(`a payload is refused: ${note}`, (t) => {
    t.throws(() => decode(value), { code: 'bundle-malformed', message: `bundle is malformed: ${problem}` } as never);
  });
}

test('a payload with the fewest members', (t) => {
  t.deepEqual(decode(good), {
    domain: 'd',
    epoch: 0,
    version: 1,
    modified: 1000,
    issued: 2000,
    expires: 3000,
    policies: [{ name: 'd:policy.p', modified: '', assertions: [assertion] }],
  });
});

test('a payload with every member, and others that are not known', (t) => {
  const conditions = { conditionsList: [{ ...set, id: 0 }, set] };
  const full = { ...assertion, effect: 'DENY', id: 0, caseSensitive: false, conditions };
  const policies = [{ ...policy, modified: 'x', version: '0', active: false, caseSensitive: true, assertions: [full] }];
  const more = {
    ...good,
    later: 1,
    policyData: { domain: 'd', policies: policies.map((one) => ({ ...one, later: 1 })) },
  };
  t.deepEqual<unknown, unknown>((decode(more) as { policies: unknown }).policies, policies);
});
