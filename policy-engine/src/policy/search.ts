import type { CompiledAssertion } from './assertion.ts';
import type { Query } from './rules.ts';

/**
 * One search for the assertion that decides. Of all that match, that one is the one with the smallest precedence (DENY before
 * ALLOW, plain roles before pattern roles), then of the role that the caller names first, then with the smallest rank.
 */
export class Search {
  readonly roles: readonly string[];
  readonly query: Query;
  #best: CompiledAssertion | undefined;
  #bestRole = 0;

  constructor(roles: readonly string[], query: Query) {
    this.roles = roles;
    this.query = query;
  }

  get best(): CompiledAssertion | undefined {
    return this.#best;
  }

  /** Whether an assertion of this precedence could still take the place of what was found. */
  isOpen(precedence: number): boolean {
    return this.#best === undefined || precedence <= this.#best.precedence;
  }

  /** Takes a matching assertion if it comes before what was found; `role` is the place of the role it matched for. */
  offer(assertion: CompiledAssertion, role: number): void {
    const best = this.#best;
    if (best !== undefined) {
      const order = assertion.precedence - best.precedence || role - this.#bestRole || assertion.rank - best.rank;
      if (order >= 0) return;
    }
    this.#best = assertion;
    this.#bestRole = role;
  }
}
