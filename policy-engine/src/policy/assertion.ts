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
import { NamedActions } from './named-actions.ts';
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
  /** `false`: a version that is kept and decides nothing. */
  active?: boolean;
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
  /** At the first of a short list that hangs at a name: the name with its domain, once it was asked for. */
  name: string | undefined;
  /** The next one in a short list that hangs at one resource. */
  next: CompiledAssertion | undefined;
  /** Made when it is first needed. */
  decision: Decision | undefined;
}

/** The outcome of making an assertion ready. `foreign` ones name another domain and can never match. `problem` is for the author. */
type PreparedAssertion =
  | { kind: 'ready'; assertion: CompiledAssertion; problem?: string }
  | { kind: 'foreign'; problem: string };

/** A role made ready for comparison; `name` is undefined when it is one of another domain. */
interface PreparedRole {
  readonly name: string | undefined;
  readonly pattern: Pattern | undefined;
}

/** What the assertions of one domain share. */
export class PrepareContext {
  readonly domain: string;
  readonly qualified: boolean;
  /** What stands before the name of a resource in the text that it is compared by: nothing where that is the whole of it. */
  readonly prefix: string;
  readonly #patterns = new Map<string, Pattern>();
  /** By their texts as written: a text that was seen needs no second look. */
  readonly #roles = new Map<string, PreparedRole>();
  readonly #actions = new Map<string, Pattern>();
  /** What tells the actions that were prepared from others. */
  readonly namedActions = new NamedActions();

  constructor(domain: string, qualified: boolean) {
    this.domain = domain;
    this.qualified = qualified;
    this.prefix = qualified ? '' : `${domain}:`;
  }

  /** Equal role names share one text: most comparisons are then done by looking at the reference. Throws as `prepareAssertion` does. */
  role(text: string, policy: string): PreparedRole {
    const known = this.#roles.get(text);
    if (known !== undefined) return known;
    checkText(text, 'role', policy);
    const name = shortRole(text, this.domain);
    const pattern = name !== undefined && isPattern(name) ? this.#shared(name) : undefined;
    const role = { name, pattern };
    this.#roles.set(text, role);
    return role;
  }

  /** Equal patterns share one object, which keeps large policies small. */
  action(text: string, policy: string): Pattern {
    const known = this.#actions.get(text);
    if (known !== undefined) return known;
    checkText(text, 'action', policy);
    const action = this.#shared(foldAscii(text));
    this.#actions.set(text, action);
    this.namedActions.add(action);
    return action;
  }

  /** Undefined when it is one of another domain. */
  resource(text: string, policy: string): Pattern | undefined {
    checkText(text, 'resource', policy);
    const folded = foldAscii(text);
    const name = this.qualified ? folded : withoutDomain(folded, this.domain);
    if (name === undefined) return undefined;
    // Most resources are named once.
    return isPattern(name) ? this.#shared(name) : { kind: 'exact', text: name };
  }

  /** Once all actions and resources were prepared: a domain that is kept keeps its roles alone of what is here. */
  forgetPatterns(): void {
    this.#patterns.clear();
    this.#actions.clear();
  }

  #shared(text: string): Pattern {
    const known = this.#patterns.get(text);
    if (known !== undefined) return known;
    const pattern = compilePattern(text);
    this.#patterns.set(text, pattern);
    return pattern;
  }
}

/** Throws `PolicyEngineError('bundle-malformed')` for an assertion that must make the whole policy invalid. */
export function prepareAssertion(
  input: AssertionInput,
  policy: string,
  rank: number,
  context: PrepareContext,
): PreparedAssertion {
  const role = context.role(input.role, policy);
  const action = context.action(input.action, policy);
  const resource = context.resource(input.resource, policy);
  const effect = input.effect === undefined ? 'ALLOW' : input.effect;
  if (effect !== 'ALLOW' && effect !== 'DENY') throw malformed(policy, 'has an effect other than ALLOW and DENY');
  if (effect === 'ALLOW' && input.conditions !== undefined && !areConditions(input.conditions)) {
    throw malformed(policy, 'has an assertion whose conditions are malformed');
  }
  const conditions = compileConditions(input.conditions);
  if (role.name === undefined) return foreign(policy, 'role', input.role);
  if (resource === undefined) return foreign(policy, 'resource', input.resource);
  return {
    kind: 'ready',
    assertion: readyAssertion({ role, action, resource, conditions, effect, policy, source: input, rank }),
    ...(conditions.kind === 'unknown' && { problem: unknownCondition(policy, effect) }),
  };
}

/** Its parts, each made ready. */
interface ReadyParts
  extends Pick<CompiledAssertion, 'action' | 'resource' | 'effect' | 'policy' | 'source' | 'rank' | 'conditions'> {
  readonly role: PreparedRole;
}

/** An assertion of parts that were found good. */
export function readyAssertion(parts: ReadyParts): CompiledAssertion {
  const { role, action, resource, conditions, effect, policy, source, rank } = parts;
  // What every comparison looks at stands first, and so lies together in memory.
  return {
    name: undefined,
    role: role.name ?? '',
    rolePattern: role.pattern,
    conditions,
    decision: undefined,
    action,
    next: undefined,
    resource,
    precedence: (effect === 'DENY' ? 0 : 2) + (role.pattern === undefined ? 0 : 1),
    rank,
    effect,
    conditionCost: costOfConditions(conditions),
    policy,
    source,
  };
}

function unknownCondition(policy: string, effect: Effect): string {
  const outcome = effect === 'ALLOW' ? 'never allows' : 'always denies';
  return `policy \`${policy}\`: an assertion has a condition that this version cannot evaluate and ${outcome}`;
}

function checkText(text: unknown, field: 'role' | 'action' | 'resource', policy: string): void {
  if (typeof text !== 'string') throw malformed(policy, `has an assertion whose ${field} is not a string`);
  const problem = patternProblem(text);
  if (problem !== undefined) throw malformed(policy, `has an assertion whose ${field} is not valid: ${problem}`);
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

/** The text after `domain:`, the whole text when there is no colon, `undefined` when another domain stands before it. */
export function withoutDomain(text: string, domain: string): string | undefined {
  const colon = text.indexOf(':');
  if (colon < 0) return text;
  return colon === domain.length && text.startsWith(domain) ? text.slice(colon + 1) : undefined;
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

/** Of which policy an assertion is. */
interface OfDomain {
  readonly domain: string;
  readonly revision: PolicyRevision | undefined;
}

/** The decision that this assertion makes; the same object each time. */
export function decisionOf(assertion: CompiledAssertion, policy: OfDomain): Decision {
  return assertion.decision ?? makeDecision(assertion, policy);
}

function makeDecision(assertion: CompiledAssertion, { domain, revision }: OfDomain): Decision {
  assertion.decision = Object.freeze({
    status: assertion.effect === 'ALLOW' ? 'ALLOW' : 'DENY',
    domain,
    ...(revision !== undefined && { revision }),
    role: assertion.role,
    policy: assertion.policy,
    assertion: describeAssertion(assertion),
  });
  return assertion.decision;
}
