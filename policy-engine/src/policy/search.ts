import type { CompiledAssertion } from './assertion.ts';
import { type DecisionContext, type FoldedContext, foldContext } from './conditions.ts';
import { Work } from './work.ts';

/**
 * One search for the assertion that decides. Of all that match, that one is the one with the smallest precedence (DENY before
 * ALLOW, plain roles before pattern roles), then of the role that the caller names first, then with the smallest rank. What it looks
 * at is spent of its work.
 */
export class Search extends Work {
  readonly roles: readonly string[];
  /** Folded, as it is compared. */
  readonly action: string;
  readonly #given: DecisionContext | undefined;
  #context: FoldedContext | undefined;
  /** The place of the one role that is searched for; -1 while all are. */
  place = -1;
  #best: CompiledAssertion | undefined;
  #bestPlace = 0;

  constructor(roles: readonly string[], action: string, context: DecisionContext | undefined) {
    super();
    this.roles = roles;
    this.action = action;
    this.#given = context;
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
