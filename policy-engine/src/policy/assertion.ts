import { PolicyEngineError } from '../errors.ts';
import { foldAscii } from '../names/index.ts';
import type { Effect, WireConditions } from '../wire/index.ts';
import { areConditions, type CompiledConditions, compileConditions, costOfConditions } from './conditions.ts';
import type { DecidingAssertion, Decision, PolicyRevision } from './decision.ts';
import { compilePattern, isPattern, type Pattern, patternProblem } from './pattern.ts';

/** Assertion: the holders of `role` may (or, with `DENY`, may not) do `action` on `resource`. Each may hold `*` and `?`. */
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

/** A role as it was written, with the short name or pattern in it. */
interface CompiledRole {
  readonly text: string;
  readonly name: string;
  /** Undefined for a role without a wildcard. */
  readonly pattern: Pattern | undefined;
}

/** An action as it was written, with its folded pattern. */
interface CompiledAction {
  readonly text: string;
  readonly pattern: Pattern;
}

/** Conditions as they were written, and ready to be evaluated for that many units of work. */
interface AssertionConditions {
  readonly written: WireConditions;
  readonly compiled: CompiledConditions;
  readonly cost: number;
}

/** An assertion made ready for comparison. It holds what its explanation needs, and nothing of its input. */
export interface CompiledAssertion {
  /** Order among matches for one effect and one role of the caller: the lower rank decides. */
  rank: number;
  readonly role: CompiledRole;
  readonly action: CompiledAction;
  /** Folded resource: its full name where there is no wildcard, else the pattern of its name without the domain. */
  readonly target: string | Pattern;
  /** Resource as it was written. */
  readonly resource: string;
  readonly effect: Effect;
  readonly conditions: AssertionConditions | undefined;
  readonly policy: string;
  readonly id: number | undefined;
  /** Next assertion of the same role and resource, in the order of their ranks. */
  next: CompiledAssertion | undefined;
  /** Cached decision; undefined before the assertion first decides. */
  decision: Decision | undefined;
}

/** Compiles the assertions of one domain. Equal roles and actions share one object. */
export class AssertionCompiler {
  readonly #domain: string;
  readonly #qualified: boolean;
  /** Prefix of a full resource name: empty where resources are compared with the domain that they name. */
  readonly prefix: string;
  /** The assertions that can match, in the order of the policies. */
  readonly assertions: CompiledAssertion[] = [];
  /** Sentences for the author, one about each assertion that can never match or has an unknown condition. */
  readonly problems: string[] = [];
  /** Roles by text; null for a role of another domain. */
  readonly #roles = new Map<string, CompiledRole | null>();
  readonly #actions = new Map<string, CompiledAction>();

  constructor(domain: string, qualified: boolean) {
    this.#domain = domain;
    this.#qualified = qualified;
    this.prefix = qualified ? '' : `${domain}:`;
  }

  /** Throws `PolicyEngineError('bundle-malformed')` for an assertion that makes the whole policy invalid. */
  add(input: AssertionInput, policy: string): void {
    const role = this.#role(input.role, policy);
    const action = this.#action(input.action, policy);
    const { resource, id } = input;
    const target = this.#target(resource, policy);
    const effect = input.effect === undefined ? 'ALLOW' : input.effect;
    if (effect !== 'ALLOW' && effect !== 'DENY') throw malformed(policy, 'has an effect other than ALLOW and DENY');
    const conditions = conditionsOf(input, effect, policy);
    if (role === null || target === undefined) {
      const named = role === null ? `role \`${input.role}\`` : `resource \`${resource}\``;
      this.problems.push(`policy \`${policy}\`: ${named} names another domain and never matches`);
      return;
    }
    if (conditions?.compiled.kind === 'unknown') this.problems.push(unknownCondition(policy, effect));
    const rank = this.assertions.length;
    const [next, decision] = [undefined, undefined];
    this.assertions.push({ rank, role, action, target, resource, effect, conditions, policy, id, next, decision });
  }

  #role(text: string, policy: string): CompiledRole | null {
    const known = this.#roles.get(text);
    if (known !== undefined) return known;
    checkText(text, 'role', policy);
    const name = shortRole(text, this.#domain);
    const role =
      name === undefined ? null : { text, name, pattern: isPattern(name) ? compilePattern(name) : undefined };
    this.#roles.set(text, role);
    return role;
  }

  #action(text: string, policy: string): CompiledAction {
    const known = this.#actions.get(text);
    if (known !== undefined) return known;
    checkText(text, 'action', policy);
    const action = { text, pattern: compilePattern(foldAscii(text)) };
    this.#actions.set(text, action);
    return action;
  }

  /** Undefined for a resource of another domain. */
  #target(text: string, policy: string): string | Pattern | undefined {
    checkText(text, 'resource', policy);
    const folded = foldAscii(text);
    const name = this.#qualified ? folded : withoutDomain(folded, this.#domain);
    if (name === undefined) return undefined;
    if (isPattern(name)) return compilePattern(name);
    // A full name in lower case shares its text with the input.
    return name.length === folded.length ? this.prefix + name : folded;
  }
}

function conditionsOf(
  { conditions: written }: AssertionInput,
  effect: Effect,
  policy: string,
): AssertionConditions | undefined {
  if (written === undefined) return undefined;
  if (effect === 'ALLOW' && !areConditions(written)) {
    throw malformed(policy, 'has an assertion whose conditions are malformed');
  }
  const compiled = compileConditions(written);
  return { written, compiled, cost: costOfConditions(compiled) };
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

/** The assertion as it was written. */
export function describeAssertion(assertion: CompiledAssertion): DecidingAssertion {
  const { id, effect, role, action, resource, conditions } = assertion;
  return Object.freeze({
    ...(id !== undefined && { id }),
    effect,
    role: role.text,
    action: action.text,
    resource,
    ...(conditions !== undefined && { conditions: conditions.written }),
  });
}

/** The policy that an assertion belongs to. */
interface OfDomain {
  readonly domain: string;
  readonly revision: PolicyRevision | undefined;
}

/** The decision that this assertion makes; the same object each time. */
export function decisionOf(assertion: CompiledAssertion, { domain, revision }: OfDomain): Decision {
  assertion.decision ??= Object.freeze({
    status: assertion.effect === 'ALLOW' ? 'ALLOW' : 'DENY',
    domain,
    ...(revision !== undefined && { revision }),
    role: assertion.role.name,
    policy: assertion.policy,
    assertion: describeAssertion(assertion),
  });
  return assertion.decision;
}
