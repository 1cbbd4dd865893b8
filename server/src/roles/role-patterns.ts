import { matchesPattern, Work, WorkExceededError } from '@signet/policy-engine/policy';

/** Work of comparing the patterns of one domain with the roles of another or of its own, in units of about one compared character. */
export const maxPatternWork = 200_000;

/**
 * Patterns that full names of roles are compared with. However many there are, all comparisons together cost a few milliseconds at most, or what is
 * left of the work that is given.
 */
export class RolePatterns {
  readonly #plain = new Set<string>();
  readonly #prefixes = new Set<string>();
  readonly #others = new Set<string>();
  readonly #work = new Work(maxPatternWork);

  constructor(patterns: Iterable<string>) {
    for (const pattern of patterns) {
      const wildcard = pattern.search(/[*?]/);
      if (wildcard < 0) this.#plain.add(pattern);
      else if (wildcard === pattern.length - 1 && pattern.endsWith('*')) this.#prefixes.add(pattern.slice(0, -1));
      else this.#others.add(pattern);
    }
  }

  /** True if one of the patterns fits; `beyond` when there were too many with wildcards to find out. */
  fits(name: string, beyond: boolean, work: Work = this.#work): boolean {
    if (this.#plain.has(name)) return true;
    if (work.remaining < 0) return beyond;
    try {
      return this.#fitsWildcard(name, work);
    } catch (error) {
      if (!(error instanceof WorkExceededError)) throw error;
      return beyond;
    }
  }

  #fitsWildcard(name: string, work: Work): boolean {
    for (const prefix of this.#prefixes) {
      work.spend(1);
      if (name.startsWith(prefix)) return true;
    }
    for (const pattern of this.#others) if (matchesPattern(pattern, name, work)) return true;
    return false;
  }
}
