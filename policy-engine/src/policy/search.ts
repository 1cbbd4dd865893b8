import { foldAscii } from '../names/index.ts';
import type { CompiledAssertion } from './assertion.ts';
import { conditionsCount, type DecisionContext, type FoldedContext, foldContext } from './conditions.ts';
import { type Pattern, patternMatches } from './pattern.ts';
import { Work } from './work.ts';

/** A request of one domain. */
interface Question {
  readonly roles: readonly string[];
  readonly action: string;
  /** Resource with the domain in front as policies write it. */
  readonly resource: string;
  /** Index of the name in the resource. */
  readonly nameStart: number;
  readonly context: DecisionContext | undefined;
}

/** Search for the assertion that decides: the request, the best match so far, and the work that was spent. */
export class Search extends Work {
  readonly roles: readonly string[];
  /** Match with the lowest rank for the role that is being searched for. */
  best: CompiledAssertion | undefined = undefined;
  readonly #question: Question;
  #action: string | undefined = undefined;
  #resource: string | undefined = undefined;
  #name: string | undefined = undefined;
  #context: FoldedContext | undefined = undefined;

  constructor(question: Question) {
    super();
    this.roles = question.roles;
    this.#question = question;
  }

  /** The folded action: most searches for a role without assertions end before anything is folded. */
  get action(): string {
    this.#action ??= foldAscii(this.#question.action);
    return this.#action;
  }

  /** The folded resource with its domain. */
  get resource(): string {
    this.#resource ??= foldAscii(this.#question.resource);
    return this.#resource;
  }

  /** The folded resource without its domain. */
  get name(): string {
    this.#name ??= this.resource.slice(this.#question.nameStart);
    return this.#name;
  }

  /** True if a match of this rank would replace the best one. */
  isBefore({ rank }: { readonly rank: number }): boolean {
    return this.best === undefined || rank < this.best.rank;
  }

  /**
   * Tries the first assertion of a chain that matches, unless a better one was found. Their roles were compared before, and their resources
   * unless `comparesTarget`.
   */
  takeFirst(chain: CompiledAssertion, comparesTarget: boolean): void {
    for (let next: CompiledAssertion | undefined = chain; next !== undefined && this.isBefore(next); next = next.next) {
      this.spend(1);
      if (!this.#matchesAction(next.action.pattern)) continue;
      if (comparesTarget && !this.#matchesTarget(next.target)) continue;
      if (this.#counts(next)) this.best = next;
    }
  }

  #matchesAction(pattern: Pattern): boolean {
    if (pattern.kind !== 'exact') return patternMatches(pattern, this.action, this);
    // Folding keeps the length, and takes longer than most comparisons.
    return pattern.text.length === this.#question.action.length && pattern.text === this.action;
  }

  #matchesTarget(target: string | Pattern): boolean {
    if (typeof target !== 'string') return patternMatches(target, this.name, this);
    return target.length === this.#question.resource.length && target === this.resource;
  }

  #counts({ conditions, effect }: CompiledAssertion): boolean {
    if (conditions === undefined) return true;
    this.spend(conditions.cost);
    this.#context ??= foldContext(this.#question.context);
    return conditionsCount(conditions.compiled, effect, this.#context);
  }
}
