import { parseActionName, parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { type ConditionKey, type DecisionContext, decideInDomain } from '@signet/policy-engine/policy';
import { type AccessQuery, checkAccess } from '@signet/server/access/check-access';
import { UnknownDomainError } from '@signet/server/errors';
import type { ContextSet } from '@signet/server/impact/contexts';
import { type AccessChange, impactOf } from '@signet/server/impact/impact';
import { type PrincipalClass, principalClasses } from '@signet/server/impact/principal-classes';
import { grantedRoles } from '@signet/server/roles/granted-roles';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import { runAtOnce } from '@signet/server/steps/steps';
import test from 'ava';
import fc from 'fast-check';
import { conditionHolds } from '#support/condition-oracle';
import { conditionValues } from '#support/condition-values';
import { type PlainConditions, type PlainDomain, plainSnapshot } from '#support/plain-domains';

const now = 1_700_000_000_000;
/** Raise for a long run: `SIGNET_PROPERTY_RUNS=100000`. */
const numRuns = Number(process.env['SIGNET_PROPERTY_RUNS'] ?? 10_000);

/* Whole domains over a small alphabet: `aa` has the resources, `bb` groups, delegation and services. */
const principals = ['bb.x', 'bb.y', 'bb.z', 'bb.xyz', 'user.u', 'user.v', 'bb.c.x'];
const actions = ['read', 'rx', 'write', 'q'];
const resources = ['aa:m', 'aa:mm', 'aa:n', 'aa:z'];

const member = fc.record({
  name: fc.constantFrom('bb.x', 'bb.y', 'bb.xyz', 'user.u', '*', 'bb.*', 'bb.x*', 'u*', 'bb:group.g', 'bb:group.h'),
  disabled: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  expires: fc.option(fc.constantFrom(now - 1, now + 1), { nil: undefined }),
});
const members = fc
  .uniqueArray(member, { maxLength: 3, selector: ({ name }) => name })
  .map((list) => list.map(({ expires, ...rest }) => ({ ...rest, ...(expires !== undefined && { expires }) })));
const condition = fc.oneof(
  ...Object.entries(conditionValues).map(([operator, { inPairs }]) =>
    fc.constantFrom(...inPairs).map((value) => ({ operator, value })),
  ),
);
const conditions = fc.array(
  fc.oneof(
    condition.map((instances): PlainConditions => ({ instances })),
    condition.map((scopeall): PlainConditions => ({ scopeall })),
    fc.tuple(condition, condition).map(([instances, scopeall]): PlainConditions => ({ instances, scopeall })),
  ),
  { minLength: 1, maxLength: 2 },
);
const contexts: readonly DecisionContext[] = [
  {},
  { instances: 'h1' },
  { instances: 'h2' },
  { instances: 'h3' },
  { scopeall: 'h1' },
  { instances: 'h2', scopeall: 'h1' },
  { instances: 'H1', scopeall: 'no' },
  { instances: 'h12', scopeall: '10.1.2.3' },
  { instances: 'xyz', scopeall: '2001:db8:0::1' },
  { instances: '10.1.2.3' },
  { instances: '10.1.2.33', scopeall: '2001:db9::' },
  { instances: '10.2.3.4', scopeall: '10.1.x' },
  { instances: '::ffff:10.1.2.3', scopeall: '127.0.0.1' },
  { instances: '2001:DB8::1', scopeall: 'h1' },
  { instances: '10.1.2.256' },
];
const rule = fc.tuple(
  fc.constantFrom('ALLOW' as const, 'ALLOW' as const, 'DENY' as const),
  fc.constantFrom('r1', 'r2', 'r3', 'r*', 'r?', '*'),
  fc.constantFrom('read', 'r*', 'write', '*', 'r?'),
  fc.constantFrom('m', 'm*', 'n', '*', '?', '*m'),
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: conditions }),
);
const domainA = fc
  .record({
    r1: members,
    r2: members,
    trusts: fc.boolean(),
    rules: fc.array(rule, { maxLength: 4 }),
    assumes: fc.boolean(),
  })
  .map(
    ({ r1, r2, trusts, rules, assumes }): PlainDomain => ({
      name: 'aa',
      roles: { r1, r2 },
      ...(trusts && { trusts: { r3: 'bb' } }),
      rules: [...rules, ...(assumes ? [['ALLOW', 'r1', 'assume_role', 'role.r2'] as const] : [])],
    }),
  );
const domainB = fc
  .record({
    enabled: fc.oneof({ weight: 6, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    g: fc.uniqueArray(fc.constantFrom('bb.x', 'bb.y', 'user.u', 'user.v'), { maxLength: 2 }),
    h: fc.uniqueArray(fc.constantFrom('bb.x', 'bb.z'), { maxLength: 2 }),
    s: members,
    off: fc.option(fc.constantFrom('x', 'y', 'z'), { nil: undefined }),
    grants: fc.option(fc.constantFrom('r3', 'r*', 'r1'), { nil: undefined }),
  })
  .map(
    ({ enabled, g, h, s, off, grants }): PlainDomain => ({
      name: 'bb',
      enabled,
      groups: { g, h },
      roles: { s },
      ...(off !== undefined && { servicesOff: [off] }),
      ...(grants !== undefined && { rules: [['ALLOW', 's', 'assume_role', `aa:role.${grants}`]] }),
    }),
  );

/** Decision of an engine with the roles that a principal holds. */
function isAllowed(snapshot: Snapshot, { principal, action, resource, context }: Required<Query>): boolean {
  const domain = snapshot.domain(parseDomainName('aa'));
  if (domain === undefined) return false;
  const roles = grantedRoles(snapshot, domain, principal, now).map(({ name }) => name);
  return roles.length > 0 && decideInDomain(domain.policy, roles, action, resource, context).status === 'ALLOW';
}

type Query = Omit<AccessQuery, 'trustDomain'>;

function isGranted(
  snapshot: Snapshot,
  principal: string,
  action: string,
  resource: string,
  context: DecisionContext,
): boolean {
  const query = { principal: parsePrincipalName(principal), action: parseActionName(action), resource, context };
  // Who comes into a role shows in what its holders may do; an assertion about it is compared as engines decide it.
  if (/^assume_role aa:role\./.test(`${action} ${resource}`)) return isAllowed(snapshot, query);
  try {
    return checkAccess(snapshot, query, now).granted;
  } catch (error) {
    if (error instanceof UnknownDomainError) return false;
    throw error;
  }
}

function matches(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] === '*') return matches(pattern.slice(1), text) || (text !== '' && matches(pattern, text.slice(1)));
  return text !== '' && (pattern[0] === '?' || pattern[0] === text[0]) && matches(pattern.slice(1), text.slice(1));
}

function covers(set: AccessChange['action'], text: string): boolean {
  return set.matching.every((one) => matches(one, text)) && !set.except.some((one) => matches(one, text));
}

function isIn(set: ContextSet, context: DecisionContext): boolean {
  return Object.entries(set).every(([key, wanted]) => {
    const value = context[key as ConditionKey]?.toLowerCase();
    if (wanted === null || value === undefined) return wanted === null && value === undefined;
    if ('is' in wanted) return wanted.is === value;
    const { isNot, matching = [], except = [], unreadableBy = [] } = wanted;
    return (
      !isNot.includes(value) &&
      matching.every((term) => conditionHolds(term.operator, term.value, value) === true) &&
      except.every((term) => conditionHolds(term.operator, term.value, value) === false) &&
      unreadableBy.every(
        (operator) => conditionHolds(operator, conditionValues[operator].inPairs[0] ?? '', value) === undefined,
      )
    );
  });
}

/** The class that a principal is in: its name, a switched-off domain's part of a wildcard, or the longest wildcard. */
function classOf(before: Snapshot, after: Snapshot, principal: string): PrincipalClass | undefined {
  const sides = [before, after].map((snapshot) => ({ snapshot, domain: snapshot.domain(parseDomainName('aa')) }));
  const classes = runAtOnce(principalClasses(sides));
  const isService = (domain: string) => principal.slice(0, principal.lastIndexOf('.')) === domain;
  const closed = [...before.disabledDomains, ...after.disabledDomains].some(isService);
  return (
    classes.find(({ label }) => label === principal) ??
    classes
      .filter(({ label, within }) => {
        const isCovered = label.endsWith('*') && principal.startsWith(label.slice(0, -1));
        return isCovered && (within === undefined ? !closed : isService(within));
      })
      .sort((one, other) => other.label.length - one.label.length)[0]
  );
}

function hasConditions(snapshot: Snapshot): boolean {
  return [...snapshot.domains.values()].some(({ policies }) =>
    policies.some(({ assertions }) => assertions.some((assertion) => assertion.conditions !== undefined)),
  );
}

/** Every question whose answer differs from what the changes say, in words. */
function disagreements(before: Snapshot, after: Snapshot, changes: readonly AccessChange[]): string[] {
  const asked = [before, after].some(hasConditions) ? contexts : [{}];
  return principals.flatMap((principal) => {
    const own = classOf(before, after, principal);
    const mine = changes.filter((change) => change.principal === own?.label && change.within === own.within);
    const questions = actions.flatMap((action) =>
      resources.flatMap((resource) => asked.map((context) => ({ action, resource, context }))),
    );
    return questions.flatMap(({ action, resource, context }) => {
      const found = mine
        .filter((flip) => flip.contexts?.some((set) => isIn(set, context)) ?? true)
        .filter((flip) => covers(flip.action, action) && covers(flip.resource, resource.slice('aa:'.length)))
        .map(({ change }) => change);
      const was = isGranted(before, principal, action, resource, context);
      const is = isGranted(after, principal, action, resource, context);
      const right = was === is ? [] : [is ? 'gain' : 'loss'];
      return found.join() === right.join()
        ? []
        : [`${principal} ${action} ${resource} ${JSON.stringify(context)}: ${was} to ${is}, found ${found}`];
    });
  });
}

/** Every example that does not show what it is an example of. */
function wrongExamples(before: Snapshot, after: Snapshot, changes: readonly AccessChange[]): AccessChange[] {
  return changes.filter(({ change, example: { principal, action, resource, context = {} } }) => {
    const was = isGranted(before, principal, action, resource, context);
    const is = isGranted(after, principal, action, resource, context);
    return was === is || is !== (change === 'gain');
  });
}

test('impact: agrees with asking every question, over random pairs of whole domains', (t) => {
  fc.assert(
    fc.property(domainA, domainA, domainB, domainB, fc.boolean(), (a1, a2, b1, b2, sameA) => {
      const before = plainSnapshot([a1, b1], now);
      const after = plainSnapshot([sameA ? a1 : a2, b2], now);
      const changes = impactOf(before, after, now).filter(({ domain }) => domain === 'aa');
      const wrong = [...disagreements(before, after, changes), ...wrongExamples(before, after, changes)];
      if (wrong.length > 0) throw new Error(JSON.stringify(wrong));
    }),
    { numRuns, includeErrorInReport: true },
  );
  t.pass();
});

test('impact: who comes in through a trusted domain that is switched on, and is not of that domain', (t) => {
  const aa: PlainDomain = { name: 'aa', trusts: { r3: 'bb' }, rules: [['ALLOW', 'r3', 'read', 'm']] };
  const bb: PlainDomain = {
    name: 'bb',
    roles: { s: [{ name: 'user.u', disabled: false }] },
    rules: [['ALLOW', 's', 'assume_role', 'aa:role.r3']],
  };
  const changes = impactOf(plainSnapshot([aa, { ...bb, enabled: false }], now), plainSnapshot([aa, bb], now), now);
  t.deepEqual(
    changes.filter(({ domain }) => domain === 'aa').map(({ change, principal }) => [change, principal]),
    [['gain', 'user.u']],
  );
});
