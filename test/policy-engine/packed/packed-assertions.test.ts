import { deepStrictEqual } from 'node:assert/strict';
import { runAtOnce, type Steps } from '@signet/policy-engine/internal/steps';
import {
  compileDomain,
  type compileInSteps,
  type DomainPolicy,
  decideInDomain,
  explainInDomain,
  type PolicyInput,
} from '@signet/policy-engine/policy';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

/* Assertions that stay in their bytes are what they are when each is an object: read, refused and decided alike. */

interface Run {
  readonly length: number;
  readonly all: { isNamed(row: number, text: string, from: number): boolean };
}
interface Payload {
  readonly policies: readonly { readonly name: string; readonly assertions: readonly object[] }[];
}

const { parseInSteps } = await internals<{
  parseInSteps(bytes: Uint8Array, options: { pieceLength?: number; runs?: object }): Steps<unknown>;
}>('policy-engine/src/json/strict-json.ts');
const { AssertionReader } = await internals<{
  AssertionReader: new (bytes: Uint8Array, domain: string, spare?: Uint8Array) => object;
}>('policy-engine/src/packed/assertion-reader.ts');
const { AssertionRun } = await internals<{ AssertionRun: new (...facts: never[]) => Run }>(
  'policy-engine/src/packed/packed-assertions.ts',
);
const { decodePayload, unpackPolicies } = await internals<{
  decodePayload(value: unknown, athenzBundles: boolean): Steps<Payload>;
  unpackPolicies(policies: Payload['policies']): Steps<PolicyInput[]>;
}>('policy-engine/src/bundle/decode-payload.ts');
const { compileInSteps: compile } = await internals<{ compileInSteps: typeof compileInSteps }>(
  'policy-engine/src/policy/domain-policy.ts',
);

const domain = 'd';
const encoder = new TextEncoder();

/** What was made, or the refusal. */
function outcome<Made>(make: () => Made): Made | string {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof RangeError || error instanceof TypeError) throw error;
    return error.message;
  }
}

interface Reading {
  readonly pieceLength: number;
  /** Bytes that the reader may use, and where they begin. */
  readonly spare?: readonly [from: number, to: number] | undefined;
  readonly athenzBundles?: boolean;
}

function readPlainly(text: string, { pieceLength, athenzBundles = false }: Reading): readonly PolicyInput[] | string {
  return outcome(() => {
    const payload = runAtOnce(
      decodePayload(runAtOnce(parseInSteps(encoder.encode(text), { pieceLength })), athenzBundles),
    );
    return runAtOnce(unpackPolicies(payload.policies));
  });
}

function readPacked(
  text: string,
  { pieceLength, athenzBundles = false, spare }: Reading,
): Payload['policies'] | string {
  const bytes = encoder.encode(text);
  const runs = new AssertionReader(bytes, domain, spare && new Uint8Array(5000).fill(7).subarray(...spare));
  return outcome(
    () => runAtOnce(decodePayload(runAtOnce(parseInSteps(bytes, { pieceLength, runs })), athenzBundles)).policies,
  );
}

function packedCount(policies: Payload['policies']): number {
  const all = policies.flatMap(({ assertions }) => assertions);
  return all.reduce((sum, one) => sum + (one instanceof AssertionRun ? one.length : 0), 0);
}

const times =
  '"modified":"2026-01-01T00:00:00.000Z","issued":"2026-01-01T00:00:00.000Z","expires":"2026-02-01T00:00:00.000Z"';

function payloadOf(lists: readonly string[]): string {
  const policies = lists.map((items, index) => `{"name":"d:policy.p${index}","assertions":${items}}`);
  return `{"policyData":{"domain":"d","policies":[${policies.join()}]},${times},"version":1,"epoch":0}`;
}

interface Texts {
  readonly role: string;
  readonly action: string;
  readonly resource: string;
  readonly effect: string;
  readonly id: string;
}

/** Forms in which an assertion may be written: the first are those that stay in their bytes. */
const forms: readonly ((texts: Texts) => string)[] = [
  ({ id, role, resource, action, effect }) =>
    `{"id":${id},"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}"}`,
  ({ id, role, resource, action, effect }) =>
    `{"effect":"${effect}","role":"${role}","action":"${action}","resource":"${resource}","id":${id}}`,
  ({ role, resource, action, effect }) =>
    `{"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}"}`,
  ({ id, role, resource, action, effect }) =>
    `{"id": ${id},"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}" }`,
  ({ role, resource, action, effect }) =>
    `{"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}","caseSensitive":false}`,
  ({ role, resource, action, effect }) =>
    `{"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}","conditions":{"conditionsList":[{"conditionsMap":{"instances":{"operator":"EQUALS","value":"a"}}}]}}`,
  ({ role, resource, action, effect }) =>
    `{"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}","effect":"DENY"}`,
  ({ role, resource, action, effect }) =>
    `{"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}","__proto__":1}`,
  ({ role, resource, action }) => `{"role":"${role}","resource":"${resource}","action":"${action}"}`,
  ({ role, resource }) => `{"role":"${role}","resource":"${resource}`,
  ({ id, role, resource, action, effect }) =>
    `{"role":"${role}","resource":"${resource}","action":"${action}","effect":"${effect}","id":${id}"}`,
  ({ id, role, resource, action, effect }) =>
    `{"role":"${role}","resource":"${resource}","action":"${action}","id":${id},"effect":"${effect}}`,
];
const packedForms = 3;
const validForms = 6;

const names = ['a', 'b', 'a.b', 'ab', 'role.a'];
const patterns = ['A', 'a*', '*', 'a?b', '{a}', '}', 'é', '\\u0061', '\\"', 'x:a'];
const malformed = ['', 'a\nb', '\\ud800', '"', '*'.repeat(200)];

/** Lists as servers write them, with whatever they may write; and lists with whatever else comes. */
function listsOf(isWild: boolean): fc.Arbitrary<string> {
  const usually = (usual: readonly string[], other: readonly string[], wild: readonly string[]) =>
    fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom(...usual) },
      { weight: 2, arbitrary: fc.constantFrom(...other) },
      ...(isWild ? [{ weight: 1, arbitrary: fc.constantFrom(...wild) }] : []),
    );
  const texts: fc.Arbitrary<Texts> = fc.record({
    role: usually(
      [...names, ...names.map((name) => `d:role.${name}`)],
      [...patterns, 'D:role.a', 'd:role.A'],
      malformed,
    ),
    action: usually(['a', 'b', 'ab', 'a*'], patterns, malformed),
    resource: usually([...names.map((name) => `d:${name}`), 'a', 'd:a:b'], ['d:A', 'd:a.?', ...patterns], malformed),
    effect: usually(['ALLOW', 'ALLOW', 'DENY'], ['ALLOW'], ['allow', 'ALLOWED', 'DEN', '']),
    id: usually(
      ['0', '7', '999999999999999'],
      ['9007199254740991', '1e3'],
      ['07', '-1', '1.5', '9007199254740993', '1"'],
    ),
  });
  const lastForm = isWild ? forms.length - 1 : validForms - 1;
  const form = fc.oneof({ weight: 20, arbitrary: fc.constant(-1) }, { weight: 1, arbitrary: fc.nat(lastForm) });
  const separator = usually([','], [', ', ' ,\n'], [',,', '', ';', ',1,', ',{},', ',"{\\"role\\":",']);
  const end = usually([''], [' '], [',', '[', '0']);
  const items = fc.array(fc.tuple(texts, form, separator), { maxLength: isWild ? 20 : 80, size: 'max' });
  return fc.tuple(fc.nat(packedForms - 1), items, end).map(([usual, all, behind]) => {
    const written = all.map(([one, other, between], index) => {
      const item = forms[other < 0 ? usual : other]?.(one) ?? '';
      return index === 0 ? item : between + item;
    });
    return `[${written.join('')}${behind}]`;
  });
}

const anyLists = fc.boolean().chain((isWild) => fc.array(listsOf(isWild), { minLength: 1, maxLength: 6 }));
const reading: fc.Arbitrary<Reading> = fc.record({
  pieceLength: fc.constantFrom(10, 100, 500, 3000, 32_768),
  athenzBundles: fc.boolean(),
  spare: fc.option(fc.tuple(fc.nat(7), fc.nat(5000)), { nil: undefined }),
});

const requests = ['a', 'b', 'ab', 'x'].flatMap((role) =>
  ['a', 'A', 'b'].flatMap((action) =>
    ['d:a', 'd:A', 'd:a.b', 'd:x:a', 'd:zz'].map((resource) => ({ role, action, resource })),
  ),
);

/** All that a policy tells. */
function toldOf(policy: DomainPolicy): unknown {
  const { problems, assertionCount } = policy;
  // Twice: an assertion that has decided before is seen at a glance.
  const decisions = [...requests, ...requests].map(({ role, action, resource }) =>
    decideInDomain(policy, [role], action, resource),
  );
  const several = requests.map(({ action, resource }) => decideInDomain(policy, ['x', 'b', 'a'], action, resource));
  const explained = explainInDomain(policy, ['b'], 'a', 'd:a');
  return { problems, assertionCount, decisions, several, explained, count: policy.assertions.length };
}

test('property: what is packed is read, refused and decided as if each assertion were an object', (t) => {
  let packed = 0;
  let refused = 0;
  let taken = 0;
  fc.assert(
    fc.property(anyLists, reading, (lists, how) => {
      const text = payloadOf(lists);
      const wanted = readPlainly(text, how);
      const found = readPacked(text, how);
      if (typeof wanted === 'string' || typeof found === 'string') {
        refused += 1;
        deepStrictEqual(found, wanted);
        return;
      }
      taken += 1;
      packed += packedCount(found);
      deepStrictEqual(runAtOnce(unpackPolicies(found)), wanted);
      const told = (make: () => DomainPolicy) => outcome(() => toldOf(make()));
      deepStrictEqual(
        told(() => runAtOnce(compile(domain, found as never))),
        told(() => compileDomain(domain, wanted)),
      );
    }),
    { numRuns: Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 1500) },
  );
  t.true(packed > 5000, `${packed} were packed`);
  t.true(refused > 100, `${refused} were refused`);
  t.true(taken > 300, `${taken} were taken`);
});

const plain = (index: number) => ({
  effect: index % 7 === 3 ? ('DENY' as const) : ('ALLOW' as const),
  role: `d:role.r${index % 10}`,
  action: index % 5 === 0 ? 'Read' : 'read',
  resource: `d:item.${index % 3 === 0 ? 'many' : index}`,
  id: index,
});

for (const count of [15, 16, 17, 300, 5000]) {
  test(`of ${count} assertions all are packed, or none where they are few`, (t) => {
    const assertions = Array.from({ length: count }, (_, index) => plain(index));
    const text = payloadOf([JSON.stringify(assertions)]);
    const how = { pieceLength: 32_768 };
    const found = readPacked(text, how);
    const wanted = readPlainly(text, how);
    if (typeof found === 'string' || typeof wanted === 'string') return t.fail();
    t.is(packedCount(found), count < 16 ? 0 : count);
    const policy = runAtOnce(compile(domain, found as never));
    const other = compileDomain(domain, wanted);
    t.deepEqual(toldOf(policy), toldOf(other));
    for (const { role, action, resource } of assertions) {
      const roles = [role.slice('d:role.'.length)];
      t.deepEqual(decideInDomain(policy, roles, action, resource), decideInDomain(other, roles, action, resource));
    }
    t.deepEqual(
      policy.assertions.map(({ rank, role, policy: name }) => [rank, role, name]),
      other.assertions.map(({ rank, role, policy: name }) => [rank, role, name]),
    );
  });
}

test('assertions are packed in every order of their members', (t) => {
  const orders = ordersOf(['role', 'action', 'resource', 'effect', 'id']);
  const items = Array.from({ length: 1000 }, (_, index) => {
    const assertion = new Map<string, unknown>(Object.entries(plain(index)));
    // Some twice, so that a form is met that was met before.
    const order = orders[(index >> 1) % orders.length] ?? [];
    return JSON.stringify(Object.fromEntries(order.map((name) => [name, assertion.get(name)])));
  });
  const text = payloadOf([`[${items.join()}]`]);
  const how = { pieceLength: 3000 };
  const found = readPacked(text, how);
  const wanted = readPlainly(text, how);
  if (typeof found === 'string' || typeof wanted === 'string') return t.fail();
  t.is(packedCount(found), items.length);
  t.deepEqual<unknown, unknown>(runAtOnce(unpackPolicies(found)), wanted);
  t.deepEqual(toldOf(runAtOnce(compile(domain, found as never))), toldOf(compileDomain(domain, wanted)));
});

function ordersOf(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length === 0) return [[]];
  return names.flatMap((first) => ordersOf(names.filter((name) => name !== first)).map((rest) => [first, ...rest]));
}

test('a text that goes on as the document does behind a name is not that name', (t) => {
  const text = payloadOf([JSON.stringify(Array.from({ length: 40 }, (_, index) => plain(index)))]);
  const found = readPacked(text, { pieceLength: 32_768 });
  const run = typeof found === 'string' ? undefined : found[0]?.assertions[0];
  if (!(run instanceof AssertionRun)) return t.fail();
  const begin = text.indexOf('item.1"');
  for (let end = begin; end < begin + 200; end += 1) {
    const name = text.slice(begin, end);
    t.is(run.all.isNamed(1, `d:${name}`, 2), name === 'item.1', name);
  }
});

test('of policies one after the other those are packed that have many assertions', (t) => {
  const sizes = [100, 5, 40, 16, 15, 0, 400, 1, 1, 1, 200];
  const lists = Array.from({ length: 20 }, () => sizes).flat();
  const text = payloadOf(lists.map((size) => JSON.stringify(Array.from({ length: size }, (_, index) => plain(index)))));
  const how = { pieceLength: 32_768 };
  const found = readPacked(text, how);
  const wanted = readPlainly(text, how);
  if (typeof found === 'string' || typeof wanted === 'string') return t.fail();
  t.deepEqual<unknown, unknown>(runAtOnce(unpackPolicies(found)), wanted);
  const count = sizes.reduce((sum, size) => sum + size, 0) * 20;
  t.true(packedCount(found) > count / 4, `${packedCount(found)} of ${count}`);
  t.deepEqual(toldOf(runAtOnce(compile(domain, found as never))), toldOf(compileDomain(domain, wanted)));
});

test('what is packed for another domain, or compared with its domain, is taken as objects', (t) => {
  const assertions = Array.from({ length: 40 }, (_, index) => ({ ...plain(index), resource: `e:item.${index}` }));
  const found = readPacked(payloadOf([JSON.stringify(assertions)]), { pieceLength: 32_768 });
  if (typeof found === 'string') return t.fail();
  t.is(packedCount(found), 40);
  for (const options of [{ qualified: true }, {}]) {
    const made = runAtOnce(compile('e', found as never, options));
    const wanted = compileDomain('e', runAtOnce(unpackPolicies(found)), options);
    t.deepEqual(toldOf(made), toldOf(wanted));
    t.is(made.assertions.length, wanted.assertions.length);
  }
});

test('a list of another name, or in another place, is no list of assertions', (t) => {
  const items = JSON.stringify(Array.from({ length: 40 }, (_, index) => plain(index)));
  const elsewhere = `{"policyData":{"domain":"d","policies":[{"name":"p","other":${items},"assertions":[]}]},${times},"version":1,"epoch":0,"extra":[[[{"a":${items}}]]]}`;
  const found = readPacked(elsewhere, { pieceLength: 100 });
  t.deepEqual<unknown, unknown>(found, readPlainly(elsewhere, { pieceLength: 100 }));
});
