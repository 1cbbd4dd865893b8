import { foldAscii } from '../names/index.ts';
import type { CompiledAssertion } from './assertion.ts';
import { type DecisionContext, type FoldedContext, foldContext } from './conditions.ts';
import { type Pattern, patternMatches } from './pattern.ts';
import { Work } from './work.ts';

/** An action that assertions name without a wildcard. */
export interface NamedAction {
  /** The one of all these assertions. */
  readonly pattern: Pattern;
  /** In a small policy: all assertions that match this action, in the order in which they can decide. */
  readonly row: readonly CompiledAssertion[];
}

/** What is searched for. */
export interface Question {
  readonly roles: readonly string[];
  /** Folded, as it is compared. */
  readonly action: string;
  /** The action, when assertions name it. */
  readonly named: NamedAction | undefined;
  /** The resource as assertions are compared with it: without its domain. */
  readonly name: string;
  readonly context: DecisionContext | undefined;
}

/**
 * One search for the assertion that decides. Of all that match, that one is the one with the smallest precedence (DENY before
 * ALLOW, plain roles before pattern roles), then of the role that the caller names first, then with the smallest rank. What it looks
 * at is spent of its work.
 */
export class Search extends Work {
  readonly roles: readonly string[];
  readonly action: string;
  readonly named: NamedAction | undefined;
  readonly #name: string;
  #folded: string | undefined;
  readonly #given: DecisionContext | undefined;
  #context: FoldedContext | undefined;
  /** The place of the one role that is searched for; -1 while all are. */
  place = -1;
  #best: CompiledAssertion | undefined;
  #bestPlace = 0;

  constructor({ roles, action, named, name, context }: Question) {
    super();
    this.roles = roles;
    this.action = action;
    this.named = named;
    this.#name = name;
    this.#given = context;
  }

  /** Whether the pattern, one of an assertion of the policy, matches the action. */
  matchesAction(pattern: Pattern): boolean {
    if (pattern.kind === 'exact') return pattern === this.named?.pattern;
    return patternMatches(pattern, this.action, this);
  }

  /** Whether the pattern matches the resource. */
  matchesResource(pattern: Pattern): boolean {
    return patternMatches(pattern, this.name, this);
  }

  /** The name of the resource, folded when it is first compared. */
  get name(): string {
    this.#folded ??= foldAscii(this.#name);
    return this.#folded;
  }

  /** As conditions compare it; folded when the first one asks. */
  get context(): FoldedContext | undefined {
    this.#context ??= foldContext(this.#given);
    return this.#context;
  }

  get best(): CompiledAssertion | undefined {
    return this.#best;
  }

  /** Whether an assertion of this precedence, for the role at this place or a later one, could still take the place of what was found. */
  isOpen(precedence: number, place: number): boolean {
    const best = this.#best;
    if (best === undefined || precedence < best.precedence) return true;
    return precedence === best.precedence && place <= this.#bestPlace;
  }

  /** Whether the assertion, if it matches for the role at this place, comes before what was found. */
  isBetter(assertion: CompiledAssertion, place: number): boolean {
    const best = this.#best;
    if (best === undefined) return true;
    return (assertion.precedence - best.precedence || place - this.#bestPlace || assertion.rank - best.rank) < 0;
  }

  /** Takes a matching assertion if it comes before what was found; `place` is that of the role that it matched for. */
  offer(assertion: CompiledAssertion, place: number): void {
    if (!this.isBetter(assertion, place)) return;
    this.#best = assertion;
    this.#bestPlace = place;
  }
}
