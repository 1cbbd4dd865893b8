import { PolicyEngine, PolicyEngineError } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';

/* Input of callers without types: options are refused with a code, requests are answered with a status. */

const authority = await createTestAuthority();
const movies = [
  { name: 'p', assertions: [{ effect: 'ALLOW', role: 'reader', action: 'read', resource: 'catalog:movie' }] },
];

const domains: { note: string; value: unknown }[] = [
  { note: 'no policies', value: { catalog: null } },
  { note: 'a policy that is null', value: { catalog: [null] } },
  { note: 'a policy without assertions', value: { catalog: [{ name: 'p' }] } },
  { note: 'an assertion that is null', value: { catalog: [{ name: 'p', assertions: [null] }] } },
  ...['role', 'action', 'resource'].map((field) => ({
    note: `a ${field} that is a number`,
    value: { catalog: [{ name: 'p', assertions: [{ ...movies[0]?.assertions[0], [field]: 1 }] }] },
  })),
  {
    note: 'an effect that is null',
    value: { catalog: [{ name: 'p', assertions: [{ ...movies[0]?.assertions[0], effect: null }] }] },
  },
  ...[
    5,
    null,
    {},
    { conditionsList: [null] },
    { conditionsList: [{ conditionsMap: null }] },
    ...[
      1,
      null,
      { value: 'a' },
      { operator: 7, value: 'a' },
      { operator: 'EQUALS' },
      { operator: 'EQUALS', value: 7 },
    ].map((instances) => ({ conditionsList: [{ conditionsMap: { instances } }] })),
  ].map((conditions) => ({
    note: `conditions ${JSON.stringify(conditions)}`,
    value: { catalog: [{ name: 'p', assertions: [{ ...movies[0]?.assertions[0], conditions }] }] },
  })),
];

for (const { note, value } of domains) {
  test(`fromDomains refuses: ${note}`, (t) => {
    const error = t.throws(() => Reflect.apply(PolicyEngine.fromDomains, PolicyEngine, [value]));
    t.true(error instanceof PolicyEngineError && error.code === 'bundle-malformed', String(error));
  });
}

for (const options of [
  undefined,
  null,
  {},
  { policyDir: 1 },
  { policyDir: [] },
  { policyDir: [1] },
  { policyDir: [''] },
  { policyDir: '' },
  5,
  { policyDir: 'x', issuers: [1] },
  { policyDir: 'x', floorFile: '' },
  { policyDir: 'x', issuers: 'https://one' },
]) {
  test(`open refuses: ${JSON.stringify(options)}`, async (t) => {
    const error = await t.throwsAsync(Promise.resolve(Reflect.apply(PolicyEngine.open, PolicyEngine, [options])));
    t.true(error instanceof PolicyEngineError && error.code === 'invalid-options', String(error));
  });
}

for (const [option, hint] of [
  ['polcyDir', ': did you mean `policyDir`?'],
  ['requireBond', ': did you mean `requireBound`?'],
  ['max_cached_tokens', ''],
] as const) {
  test(`open refuses the option \`${option}\` and names the one that was meant`, async (t) => {
    const options = { policyDir: 'x', [option]: true };
    const error = await t.throwsAsync(Promise.resolve(Reflect.apply(PolicyEngine.open, PolicyEngine, [options])));
    t.true(error instanceof PolicyEngineError && error.code === 'invalid-options');
    t.is(error?.message, `\`${option}\` is not an option of PolicyEngine.open${hint}`);
  });
}

const badOptions: [options: unknown, name: string][] = [
  [{ policyDir: ['x', 1] }, 'policyDir'],
  [{ policyDir: ['x', ''] }, 'policyDir'],
  [{ policyDir: { length: 1 } }, 'policyDir'],
  [{ policyDir: [] }, 'policyDir'],
  ['x', 'policyDir'],
  [null, 'policyDir'],
  [Object.assign(() => undefined, { policyDir: 'x' }), 'policyDir'],
  [{ policyDir: 'x', issuers: ['i', 1] }, 'issuers'],
  [{ policyDir: 'x', issuers: [''] }, 'issuers'],
  [{ policyDir: 'x', issuers: 'i' }, 'issuers'],
  [{ policyDir: 'x', issuers: null }, 'issuers'],
  [{ policyDir: ['x'], floorFile: 7 }, 'floorFile'],
  [{ policyDir: 'x', issuers: ['i'], floorFile: '' }, 'floorFile'],
];
for (const [options, name] of badOptions) {
  test(`open names the option that it refuses: ${JSON.stringify(options) ?? 'a function'}`, async (t) => {
    const error = await t.throwsAsync(Promise.resolve(Reflect.apply(PolicyEngine.open, PolicyEngine, [options])));
    t.regex(error.message, new RegExp(`^\`${name}\` must be `));
  });
}

function fails(): never {
  throw new Error('a getter that fails');
}

test('decide answers a status for lists and requests whose parts throw when they are read', async (t) => {
  const engine = authority.engine({ catalog: movies.map((policy) => ({ ...policy, assertions: [] })) });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'] });
  const iterator = Object.assign([token], { [Symbol.iterator]: fails });
  const requests = [
    { token: new Proxy([token], { get: fails }), action: 'read', resource: 'catalog:movie' },
    { token: iterator, action: 'read', resource: 'catalog:movie' },
    { token: Object.defineProperty([token, token], 1, { get: fails }), action: 'read', resource: 'catalog:movie' },
    Object.defineProperty({ token: [token, token], resource: 'catalog:movie' }, 'action', { get: fails }),
    Object.defineProperty({ token: [token, token], action: 'read', resource: 'catalog:movie' }, 'certificate', {
      get: fails,
    }),
  ];
  for (const request of requests) {
    const { status } = await Reflect.apply(engine.decide, engine, [request]);
    t.is(status, 'DENY_INVALID_PARAMETERS');
  }
});

for (const roles of [
  undefined,
  null,
  7,
  'reader',
  { every: () => true },
  [],
  [7],
  ['reader', 7],
  [7, 'reader'],
  [['reader']],
]) {
  test(`decideRoles takes roles as an array of strings: ${JSON.stringify(roles) ?? 'none'}`, (t) => {
    const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
    const engine = PolicyEngine.fromDomains({ catalog: [{ name: 'p', assertions }] });
    const asked = { domain: 'catalog', roles, action: 'read', resource: 'movie' };
    t.is(Reflect.apply(engine.decideRoles, engine, [asked]).status, 'DENY_TOKEN_INVALID');
    t.is(engine.decideRoles({ ...asked, roles: ['reader'] }).status, 'ALLOW');
  });
}

for (const input of [null, undefined, 5, 'read', true]) {
  test(`an assertion that is ${input} is told as none, in whatever place it is`, (t) => {
    const good = { role: 'reader', action: 'read', resource: 'movie' };
    for (const assertions of [[input], [good, input], [input, good]]) {
      const message = 'policy `p` holds what is not an assertion';
      const domains = { catalog: [{ name: 'p', assertions }] };
      t.throws(() => Reflect.apply(PolicyEngine.fromDomains, PolicyEngine, [domains]), { message });
    }
  });
}
