import { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Each member of a bundle by itself: what is refused names the member, so that no other rule can stand in for it. */

const { decodePayload } = await internals<{ decodePayload(value: unknown, athenzBundles?: boolean): Steps<object> }>(
  'policy-engine/src/bundle/decode-payload.ts',
);

function decode(value: unknown): object {
  return runAtOnce(decodePayload(value));
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
  ['null', null, '`payload` must be an object'],
  ['a list', [], '`payload` must be an object'],
  ['a string', 'x', '`payload` must be an object'],
  [
    'chosen versions',
    { ...good, policyVersions: {} },
    'payload contains selected policy versions, not the active ones',
  ],
  ['policy data that is a list', { ...good, policyData: [] }, '`policyData` must be an object'],
  [
    'a domain that is a number',
    { ...good, policyData: { domain: 7, policies: [] } },
    '`policyData.domain` must be a string',
  ],
  [
    'policies that are an object',
    { ...good, policyData: { domain: 'd', policies: {} } },
    '`policyData.policies` must be an array',
  ],
  ['an epoch that is a string', { ...good, epoch: '0' }, '`epoch` must be an integer'],
  ['an epoch below nought', { ...good, epoch: -1 }, '`epoch` must be an integer'],
  ['a version with a fraction', { ...good, version: 0.5 }, '`version` must be an integer'],
  ['a time of change that is a number', { ...good, modified: 1 }, '`modified` is not a time'],
  ['a time of issue that is not a time', { ...good, issued: 'now' }, '`issued` is not a time'],
  ['a time of issue in a list', { ...good, issued: [good.issued] }, '`issued` is not a time'],
  ['no expiry', { ...good, expires: undefined }, '`expires` is not a time'],
  ['an expiry at the time of issue', { ...good, expires: good.issued }, '`expires` is not after `issued`'],
  ['a policy that is null', { ...good, policyData: { domain: 'd', policies: [null] } }, '`policy` must be an object'],
  ['a policy without a name', withPolicy({ name: undefined }), '`policy.name` must be a string'],
  ['a time of change of a policy that is a number', withPolicy({ modified: 1 }), '`policy.modified` must be a string'],
  ['a version of a policy that is a number', withPolicy({ version: 1 }), '`policy.version` must be a string'],
  ['a policy that is active by a string', withPolicy({ active: 'true' }), '`policy.active` must be a boolean'],
  [
    'a policy whose case counts by a number',
    withPolicy({ caseSensitive: 1 }),
    '`policy.caseSensitive` must be a boolean',
  ],
  ['assertions that are null', withPolicy({ assertions: null }), '`policy.assertions` must be an array'],
  ['an assertion that is a string', withPolicy({ assertions: ['x'] }), '`assertion` must be an object'],
  ['a role that is a number', withAssertion({ role: 7 }), '`assertion.role` must be a string'],
  ['no resource', withAssertion({ resource: undefined }), '`assertion.resource` must be a string'],
  ['an action that is a list', withAssertion({ action: ['read'] }), '`assertion.action` must be a string'],
  ['no effect', withAssertion({ effect: undefined }), '`assertion.effect` must be ALLOW or DENY'],
  ['an effect in lower case', withAssertion({ effect: 'allow' }), '`assertion.effect` must be ALLOW or DENY'],
  ['a number of an assertion that is a string', withAssertion({ id: '1' }), '`assertion.id` must be an integer'],
  [
    'an assertion whose case counts by a string',
    withAssertion({ caseSensitive: 'no' }),
    '`assertion.caseSensitive` must be a boolean',
  ],
  ['conditions that are null', withConditions(null), '`conditions` must be an object'],
  ['conditions without a list', withConditions({}), '`conditions.conditionsList` must be an array'],
  ['a set that is null', withConditions({ conditionsList: [null] }), '`condition` must be an object'],
  ['a set without a map', withConditions({ conditionsList: [{}] }), '`condition.conditionsMap` must be an object'],
  [
    'a condition that is a string',
    withConditions({ conditionsList: [{ conditionsMap: { a: 'b' } }] }),
    '`condition` must be an object',
  ],
  [
    'a condition without an operator',
    withConditions({ conditionsList: [{ conditionsMap: { a: { value: 'b' } } }] }),
    '`condition.operator` must be a string',
  ],
  [
    'a condition without a value',
    withConditions({ conditionsList: [{ conditionsMap: { a: { operator: 'b' } } }] }),
    '`condition.value` must be a string',
  ],
  [
    'a number of a set that is a string',
    withConditions({ conditionsList: [{ ...set, id: '1' }] }),
    '`condition.id` must be an integer',
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

test('what is not known of an assertion is not kept, and what is known is whole', (t) => {
  const read = (change: object) => {
    const { policies } = decode(withAssertion(change)) as { policies: { assertions: object[] }[] };
    return policies[0]?.assertions[0];
  };
  t.deepEqual(read({}), assertion);
  t.deepEqual(read({ id: 7, caseSensitive: true }), { ...assertion, id: 7, caseSensitive: true });
  t.deepEqual(read({ more: 1 }), assertion);
  t.deepEqual(read({ id: undefined, more: 1 }), assertion);
  t.deepEqual(Object.keys(read(JSON.parse('{"__proto__":{"id":9}}')) ?? {}), Object.keys(assertion));
  const conditions = { conditionsList: [set] };
  t.deepEqual(read({ conditions: { ...conditions, more: 1 } }), { ...assertion, conditions });
});

test('of an assertion of Athenz, the effect is there and the flag is not, whatever stands there', (t) => {
  const { effect: _, ...without } = assertion;
  for (const change of [{}, { more: 1 }, { caseSensitive: true }]) {
    const policies = [{ ...policy, assertions: [{ ...without, ...change }] }];
    const payload = { modified: times.modified, expires: times.expires, policyData: { domain: 'd', policies } };
    const read = runAtOnce(decodePayload(payload, true)) as { policies: { assertions: object[] }[] };
    t.deepEqual(read.policies[0]?.assertions, [assertion]);
  }
});
