import { didYouMean } from '@signet/policy-engine/internal/nearest';
import { matchesPattern, Work, WorkExceededError } from '@signet/policy-engine/policy';
import { InvalidRequestError } from '../../errors.ts';
import { maxProblems } from './places.ts';

/** Work of finding the roles that the patterns of one domain's policies fit, in units of about one compared character. */
const maxPatternWork = 1_000_000;

/** The short names of the roles of a domain, to be asked by name and by pattern. */
export class RoleNames {
  readonly #names: ReadonlySet<string>;
  readonly #sorted: readonly string[];
  /** Cache of results by pattern: policies repeat them. */
  readonly #known = new Map<string, boolean>();
  readonly #work = new Work(maxPatternWork);
  #hints = 0;

  constructor(names: readonly string[]) {
    this.#names = new Set(names);
    this.#sorted = [...names].sort();
  }

  /** True if a role has this name, or one that this pattern fits. Throws `InvalidRequestError` when too many patterns were compared. */
  has(nameOrPattern: string): boolean {
    const wildcard = nameOrPattern.search(/[*?]/);
    if (wildcard < 0) return this.#names.has(nameOrPattern);
    const known = this.#known.get(nameOrPattern);
    if (known !== undefined) return known;
    const found = this.#fits(nameOrPattern, nameOrPattern.slice(0, wildcard));
    this.#known.set(nameOrPattern, found);
    return found;
  }

  /** The role that was probably meant, as a part of a message; of the first `maxProblems` names. */
  hint(name: string): string {
    this.#hints += 1;
    return this.#hints > maxProblems ? '' : didYouMean(name, this.#sorted);
  }

  #fits(pattern: string, prefix: string): boolean {
    try {
      for (let at = firstFrom(this.#sorted, prefix); this.#sorted[at]?.startsWith(prefix) === true; at += 1) {
        if (matchesPattern(pattern, this.#sorted[at] ?? '', this.#work)) return true;
      }
      return false;
    } catch (error) {
      if (!(error instanceof WorkExceededError)) throw error;
      throw new InvalidRequestError(
        'too many role patterns to compare: use role names, or patterns with a common prefix',
      );
    }
  }
}

/** The index of the first text that is not before `text`. */
function firstFrom(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
