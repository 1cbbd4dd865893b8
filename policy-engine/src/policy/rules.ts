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
  readonly #assertions: readonly CompiledAssertion[];
  readonly #checksAction: boolean;
  readonly #checksResource: boolean;

  /** `assertions` is one at least, sorted by rank. */
  constructor(assertions: readonly CompiledAssertion[], unchecked: Unchecked) {
    this.rank = assertions[0]?.rank ?? Number.POSITIVE_INFINITY;
    this.#assertions = assertions;
    this.#checksAction = unchecked.action;
    this.#checksResource = unchecked.resource;
  }

  find(query: Query, best: CompiledAssertion | undefined): CompiledAssertion | undefined {
    for (const assertion of this.#assertions) {
      if (best !== undefined && assertion.rank >= best.rank) return best;
      if (this.#checksResource && !patternMatches(assertion.resource, query.resource)) continue;
      if (this.#checksAction && !patternMatches(assertion.action, query.action)) continue;
      if (countsIn(assertion, query.context)) return assertion;
    }
    return best;
  }
}
