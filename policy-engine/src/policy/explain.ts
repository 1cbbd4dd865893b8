import { foldAscii } from '../names/index.ts';
import { type CompiledAssertion, describeAssertion, withoutDomain } from './assertion.ts';
import { conditionsCount, type DecisionContext, type FoldedContext, foldContext } from './conditions.ts';
import { decideInDomain } from './decide.ts';
import type { DecidingAssertion } from './decision.ts';
import type { DomainPolicy } from './domain-policy.ts';
import { matchesPattern, type Pattern, patternMatches } from './pattern.ts';
import type { Status } from './status.ts';
import { maxExplainWork, Work, WorkExceededError } from './work.ts';

/** Dimension in which an assertion does not fit a request. `effect`: it fits, and denies. */
export type Dimension = 'role' | 'action' | 'resource' | 'condition' | 'effect';

/** An assertion that nearly allowed, or that denied. */
export interface NearMiss {
  readonly policy: string;
  readonly assertion: DecidingAssertion;
  readonly misses: readonly Dimension[];
}

/** Change that helps to turn a denial into an ALLOW. */
export type Change =
  | { readonly kind: 'grant-role'; readonly domain: string; readonly role: string }
  | { readonly kind: 'add-assertion'; readonly domain: string; readonly assertion: DecidingAssertion }
  | { readonly kind: 'remove-assertion'; readonly policy: string; readonly assertion: DecidingAssertion };

/** Explanation of a domain's decision. */
export interface PolicyExplanation {
  readonly status: Status;
  /** The assertion that decided, and the role of the caller that brought it in. */
  readonly decidedBy?: { readonly policy: string; readonly assertion: DecidingAssertion; readonly heldRole: string };
  /** Near misses of a denial: the assertions that come closest to allowing, best first, and those that deny; at most ten. */
  readonly nearMisses: readonly NearMiss[];
  /**
   * Smallest set of changes to memberships and policy after which a denied request is allowed. Empty for an ALLOW, and where no such change
   * helps.
   */
  readonly changes: readonly Change[];
}

const maxNearMisses = 10;

/** A request made ready for comparison: folded, and the resource without its domain. */
interface Query {
  readonly action: string;
  readonly resource: string;
  /** The resource with its domain in front. */
  readonly full: string;
  readonly context: FoldedContext | undefined;
  readonly work: Work;
}

/**
 * Decision of `decideInDomain` with the reasons. Looks at every assertion: for people, not for every request. Where that takes more than `work`,
 * only the deciding assertion is given.
 */
// biome-ignore lint/complexity/useMaxParams: published with the first five; to change them would break callers
export function explainInDomain(
  policy: DomainPolicy,
  roles: readonly string[],
  action: string,
  resource: string,
  context?: DecisionContext,
  work: Work = new Work(maxExplainWork),
): PolicyExplanation {
  const decision = decideInDomain(policy, roles, action, resource, context);
  const { status } = decision;
  if (isAllOfIt(status)) {
    return { status, ...decidedBy(policy, roles, decision.assertion, decision.policy), nearMisses: [], changes: [] };
  }
  const folded = foldAscii(resource);
  const entity = policy.qualified ? folded : (withoutDomain(folded, policy.domain) ?? folded);
  const full = policy.prefix + entity;
  const query: Query = { action: foldAscii(action), resource: entity, full, context: foldContext(context), work };
  const decided = { status, ...decidedBy(policy, roles, decision.assertion, decision.policy) };
  try {
    const nearMisses = nearMissesOf(policy, roles, query);
    return { ...decided, nearMisses, changes: smallestChange(policy, roles, query) };
  } catch (error) {
    if (error instanceof WorkExceededError) return { ...decided, nearMisses: [], changes: [] };
    throw error;
  }
}

/** True if the status needs no explanation by assertions; where the budget is spent, examining all of them would cost far more. */
function isAllOfIt(status: Status): boolean {
  return ['ALLOW', 'DENY_INVALID_PARAMETERS', 'DENY_DOMAIN_MISMATCH', 'DENY_BUDGET_EXCEEDED'].includes(status);
}

function decidedBy(
  policy: DomainPolicy,
  roles: readonly string[],
  assertion: DecidingAssertion | undefined,
  name: string | undefined,
): Pick<PolicyExplanation, 'decidedBy'> {
  if (assertion === undefined || name === undefined) return {};
  const pattern = withoutDomain(assertion.role, policy.domain)?.replace(/^role\./, '') ?? '';
  const heldRole = roles.find((role) => matchesPattern(pattern, role)) ?? '';
  return { decidedBy: { policy: name, assertion, heldRole } };
}

function isFor({ role }: CompiledAssertion, roles: readonly string[], work: Work): boolean {
  return roles.some((held) => {
    work.spend(1);
    return matchesPattern(role.name, held, work);
  });
}

function missesOf(assertion: CompiledAssertion, roles: readonly string[], query: Query): Dimension[] {
  const { action, resource, full, work } = query;
  const { target, conditions, effect } = assertion;
  const misses: Dimension[] = [];
  work.spend(1 + (conditions?.cost ?? 0));
  if (!isFor(assertion, roles, work)) misses.push('role');
  if (!patternMatches(assertion.action.pattern, action, work)) misses.push('action');
  if (typeof target === 'string' ? target !== full : !patternMatches(target, resource, work)) misses.push('resource');
  if (conditions && !conditionsCount(conditions.compiled, effect, query.context)) misses.push('condition');
  return misses;
}

/** Sentinel above the widest assertion, with one place for those that deny. */
const widest = 8;

/** Breadth of an assertion beyond one action and one resource: of two that would help, the narrower one is the better advice. */
function breadth({ action, target, role }: CompiledAssertion): number {
  const width = ({ kind }: Pattern) => (kind === 'any' ? 2 : Number(kind !== 'exact'));
  const targetWidth = typeof target === 'string' ? 0 : width(target);
  return width(action.pattern) + targetWidth + Number(role.pattern !== undefined);
}

/** Denying assertions first; then allowing ones by how little is missing, the narrower first, in the order of the policies. */
function nearMissesOf(policy: DomainPolicy, roles: readonly string[], query: Query): NearMiss[] {
  const byDistance: NearMiss[][] = Array.from({ length: 4 * widest }, () => []);
  for (const assertion of policy.assertions) {
    const misses = missesOf(assertion, roles, query);
    const isDeny = assertion.effect === 'DENY';
    if (isDeny && misses.length > 0) continue;
    const found = byDistance[isDeny ? 0 : misses.length * widest + 1 + breadth(assertion)];
    if (found === undefined || found.length >= maxNearMisses) continue;
    const shown: readonly Dimension[] = isDeny ? ['effect'] : misses;
    found.push({ policy: assertion.policy, assertion: describeAssertion(assertion), misses: shown });
  }
  return byDistance.flat().slice(0, maxNearMisses);
}

/**
 * Every assertion that denies this request must go. Beyond that nothing is missing when an assertion allows it already;
 * else one change is enough: the role that brings the narrowest allowing assertion and no denying one, or a new assertion.
 */
function smallestChange(policy: DomainPolicy, roles: readonly string[], query: Query): readonly Change[] {
  const touching = policy.assertions.filter((assertion) => missesOf(assertion, [], query).join() === 'role');
  const allowing = touching.filter(({ effect }) => effect === 'ALLOW').sort((a, b) => breadth(a) - breadth(b));
  const denying = touching.filter(({ effect }) => effect === 'DENY');
  const fits = (held: readonly string[]) => (assertion: CompiledAssertion) => isFor(assertion, held, query.work);
  const removals = denying.filter(fits(roles)).map(removal);
  if (allowing.some(fits(roles))) return removals;
  const helpful = examples(allowing).find((role) => !denying.some(fits([role])));
  if (helpful !== undefined) return [...removals, { kind: 'grant-role', domain: policy.domain, role: helpful }];
  const [held] = roles;
  if (held !== undefined) return [...removals, addition(policy, held, query)];
  return smallestGrant(policy, allowing, denying, query);
}

/**
 * Smallest grant for a caller without any role: one must be granted, and whatever denies it must go. Denying assertions are only counted until
 * the role is found: thousands of roles may each have thousands of them.
 */
function smallestGrant(
  policy: DomainPolicy,
  allowing: readonly CompiledAssertion[],
  denying: readonly CompiledAssertion[],
  query: Query,
): readonly Change[] {
  const { domain } = policy;
  const denies = (role: string) => (assertion: CompiledAssertion) => isFor(assertion, [role], query.work);
  let best: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const role of examples(allowing)) {
    const count = countUpTo(fewest, denying, denies(role));
    if (count < fewest) [best, fewest] = [role, count];
  }
  const fresh = 'new-role';
  // A new role takes an assertion as well.
  const isFresh = countUpTo(fewest, denying, denies(fresh)) + 1 < fewest;
  const role = best === undefined || isFresh ? fresh : best;
  const removals = denying.filter(denies(role)).map(removal);
  const grant: Change = { kind: 'grant-role', domain, role };
  return role === best ? [...removals, grant] : [...removals, grant, addition(policy, role, query)];
}

/** How many of the assertions fit; `most` where there are as many or more. */
function countUpTo(
  most: number,
  assertions: readonly CompiledAssertion[],
  fits: (assertion: CompiledAssertion) => boolean,
): number {
  let count = 0;
  for (const assertion of assertions) {
    if (count >= most) break;
    if (fits(assertion)) count += 1;
  }
  return count;
}

/** Example role names, one matched by each assertion's pattern; none for those that no name can match. */
function examples(assertions: readonly CompiledAssertion[]): string[] {
  return assertions
    .map(({ role: { name } }) => {
      const example = name.replaceAll('*', '').replaceAll('?', 'x');
      return example === '' && name !== '' ? 'any' : example;
    })
    .filter((role) => role !== '');
}

function removal(assertion: CompiledAssertion): Change {
  return { kind: 'remove-assertion', policy: assertion.policy, assertion: describeAssertion(assertion) };
}

function addition(policy: DomainPolicy, role: string, query: Query): Change {
  const { domain } = policy;
  const resource = policy.qualified ? query.resource : `${domain}:${query.resource}`;
  return {
    kind: 'add-assertion',
    domain,
    assertion: { effect: 'ALLOW', role: `${domain}:role.${role}`, action: query.action, resource },
  };
}
