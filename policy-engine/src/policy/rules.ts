import { type CompiledAssertion, countsIn } from './assertion.ts';
import type { DecisionContext } from './conditions.ts';
import { patternMatches } from './pattern.ts';

/** A request made ready for comparison: folded, and the resource without its domain. */
export interface Query {
  readonly action: string;
  readonly resource: string;
  readonly context: DecisionContext | undefined;
}

/** Some assertions that can be asked for the first one that matches. */
export interface Rules {
  /** The smallest rank among them. */
  readonly rank: number;
  /** The assertion with the smallest rank among `best` and the own ones that match. */
  find(query: Query, best: CompiledAssertion | undefined): CompiledAssertion | undefined;
}

/** Which dimensions of an assertion the way to it has not compared yet. */
export interface Unchecked {
  readonly action: boolean;
  readonly resource: boolean;
}

/** A plain list in the order of ranks: for a few assertions faster than any index. */
export class RuleList implements Rules {
  readonly rank: number;
  /** Apart from the others, as most lists have but one: that saves a step through memory. */
  readonly #first: CompiledAssertion;
  readonly #others: readonly CompiledAssertion[];
  readonly #unchecked: Unchecked;

  /** Sorted by rank. */
  constructor(first: CompiledAssertion, others: readonly CompiledAssertion[], unchecked: Unchecked) {
    this.rank = first.rank;
    this.#first = first;
    this.#others = others;
    this.#unchecked = unchecked;
  }

  find(query: Query, best: CompiledAssertion | undefined): CompiledAssertion | undefined {
    if (best !== undefined && this.rank >= best.rank) return best;
    if (this.#fits(this.#first, query)) return this.#first;
    for (const assertion of this.#others) {
      if (best !== undefined && assertion.rank >= best.rank) return best;
      if (this.#fits(assertion, query)) return assertion;
    }
    return best;
  }

  #fits(assertion: CompiledAssertion, query: Query): boolean {
    const { action, resource } = this.#unchecked;
    if (resource && !patternMatches(assertion.resource, query.resource)) return false;
    if (action && !patternMatches(assertion.action, query.action)) return false;
    return assertion.conditions === undefined || countsIn(assertion, query.context);
  }
}
