import { PolicyEngineError } from '../errors.ts';
import { foldAscii } from '../names/index.ts';
import type { Effect, WireConditions } from '../wire/index.ts';
import {
  areConditions,
  type CompiledConditions,
  compileConditions,
  conditionsCount,
  costOfConditions,
  type FoldedContext,
} from './conditions.ts';
import type { DecidingAssertion, Decision, PolicyRevision } from './decision.ts';
import { compilePattern, isPattern, type Pattern, patternProblem } from './pattern.ts';

/** Who holds `role` may (or, with `DENY`, may not) do `action` on `resource`. Each may hold `*` and `?`. */
export interface AssertionInput {
  id?: number;
  /** `ALLOW` when absent. */
  effect?: Effect;
  /** `reader`, `role.reader` or `catalog:role.reader`. */
  role: string;
  action: string;
  /** `movie` or `catalog:movie`. */
  resource: string;
  conditions?: WireConditions;
}

/** A named list of assertions. */
export interface PolicyInput {
  name: string;
  assertions: readonly AssertionInput[];
}

/** An assertion made ready for comparison. */
export interface CompiledAssertion {
  /** Place in the order of the search: of two that match, the one with the smaller rank decides. */
  rank: number;
  readonly effect: Effect;
  /** Place in the order of the searches: 0 DENY of a plain role, 1 DENY of a pattern role, 2 and 3 the same for ALLOW. */
  readonly precedence: number;
  /** Short role name or pattern, in the case given. */
  readonly role: string;
  /** Present when the role has a wildcard. */
  readonly rolePattern: Pattern | undefined;
  readonly action: Pattern;
  readonly resource: Pattern;
  readonly conditions: CompiledConditions;
  /** What evaluating them costs. */
  readonly conditionCost: number;
  readonly policy: string;
  readonly source: AssertionInput;
  /** The next one in a short list that hangs at one resource. */
  next: CompiledAssertion | undefined;
  /** Made when it is first needed. */
  decision: Decision | undefined;
}

/** The outcome of making an assertion ready. `foreign` ones name another domain and can never match. `problem` is for the author. */
type PreparedAssertion =
  | { kind: 'ready'; assertion: CompiledAssertion; problem?: string }
  | { kind: 'foreign'; problem: string };

export interface PrepareOptions {
  readonly domain: string;
  readonly qualified: boolean;
  /** Equal patterns share one object, which keeps large policies small. */
  readonly patterns: Map<string, Pattern>;
  /** Equal role names share one text: most comparisons are then done by looking at the reference. */
  readonly roles: Map<string, string>;
}

/** Throws `PolicyEngineError('bundle-malformed')` for an assertion that must make the whole policy invalid. */
export function prepareAssertion(
  input: AssertionInput,
  policy: string,
  rank: number,
  options: PrepareOptions,
): PreparedAssertion {
  checkTexts(input, policy);
  const effect = input.effect === undefined ? 'ALLOW' : input.effect;
  if (effect !== 'ALLOW' && effect !== 'DENY') throw malformed(policy, 'has an effect other than ALLOW and DENY');
  if (effect === 'ALLOW' && input.conditions !== undefined && !areConditions(input.conditions)) {
    throw malformed(policy, 'has an assertion whose conditions are malformed');
  }
  const conditions = compileConditions(input.conditions);
  const role = sharedText(shortRole(input.role, options.domain), options.roles);
  const resource = options.qualified ? foldAscii(input.resource) : shortResource(input.resource, options.domain);
  if (role === undefined) return foreign(policy, 'role', input.role);
  if (resource === undefined) return foreign(policy, 'resource', input.resource);
  const rolePattern = isPattern(role) ? shared(role, options.patterns) : undefined;
  return {
    kind: 'ready',
    assertion: {
      rank,
      effect,
      precedence: (effect === 'DENY' ? 0 : 2) + (rolePattern === undefined ? 0 : 1),
      role,
      rolePattern,
      action: shared(foldAscii(input.action), options.patterns),
      resource: shared(resource, options.patterns),
      conditions,
      conditionCost: costOfConditions(conditions),
      policy,
      source: input,
      next: undefined,
      decision: undefined,
    },
    ...(conditions.kind === 'unknown' && { problem: unknownCondition(policy, effect) }),
  };
}

function unknownCondition(policy: string, effect: Effect): string {
  const outcome = effect === 'ALLOW' ? 'never allows' : 'always denies';
  return `policy \`${policy}\`: an assertion has a condition that this version cannot evaluate and ${outcome}`;
}

function checkTexts(input: AssertionInput, policy: string): void {
  for (const field of ['role', 'action', 'resource'] as const) {
    if (typeof input[field] !== 'string') throw malformed(policy, `has an assertion whose ${field} is not a string`);
    const problem = patternProblem(input[field]);
    if (problem !== undefined) throw malformed(policy, `has an assertion whose ${field} is not valid: ${problem}`);
  }
}

function malformed(policy: string, what: string): PolicyEngineError {
  return new PolicyEngineError('bundle-malformed', `policy \`${policy}\` ${what}`);
}

function foreign(policy: string, field: string, value: string): PreparedAssertion {
  return {
    kind: 'foreign',
    problem: `policy \`${policy}\`: ${field} \`${value}\` names another domain and never matches`,
  };
}

/** The domain is compared as written, `role.` is cut off once (docs/reference/decisions.md#algorithm). `undefined` when it names another domain. */
function shortRole(role: string, domain: string): string | undefined {
  const local = withoutDomain(role, domain);
  return local?.startsWith('role.') ? local.slice('role.'.length) : local;
}

function shortResource(resource: string, domain: string): string | undefined {
  return withoutDomain(foldAscii(resource), domain);
}

/** The text after `domain:`, the whole text when there is no colon, `undefined` when another domain stands before it. */
export function withoutDomain(text: string, domain: string): string | undefined {
  const colon = text.indexOf(':');
  if (colon < 0) return text;
  return colon === domain.length && text.startsWith(domain) ? text.slice(colon + 1) : undefined;
}

function sharedText(text: string | undefined, known: Map<string, string>): string | undefined {
  if (text === undefined) return undefined;
  const same = known.get(text);
  if (same === undefined) known.set(text, text);
  return same ?? text;
}

function shared(text: string, patterns: Map<string, Pattern>): Pattern {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  const pattern = compilePattern(text);
  patterns.set(text, pattern);
  return pattern;
}

/** Whether the conditions let the assertion count in this context (of `foldContext`). */
export function countsIn({ conditions, effect }: CompiledAssertion, context: FoldedContext | undefined): boolean {
  return conditionsCount(conditions, effect, context);
}

/** The assertion as it was written. */
export function describeAssertion(assertion: CompiledAssertion): DecidingAssertion {
  const { id, role, action, resource, conditions } = assertion.source;
  return Object.freeze({
    ...(id !== undefined && { id }),
    effect: assertion.effect,
    role,
    action,
    resource,
    ...(conditions !== undefined && { conditions }),
  });
}

/** The decision that this assertion makes; the same object each time. */
export function decisionOf(
  assertion: CompiledAssertion,
  domain: string,
  revision: PolicyRevision | undefined,
): Decision {
  assertion.decision ??= Object.freeze({
    status: assertion.effect === 'ALLOW' ? 'ALLOW' : 'DENY',
    domain,
    ...(revision !== undefined && { revision }),
    role: assertion.role,
    policy: assertion.policy,
    assertion: describeAssertion(assertion),
  });
  return assertion.decision;
}
