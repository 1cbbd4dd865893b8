import { type AssertionGroup, glanceAtGroup, searchGroup } from './assertion-group.ts';
import { earlier, type Glance } from './glance.ts';
import { GlobIndex } from './glob-index.ts';
import { isFolded, type PatternKind } from './pattern.ts';
import { PrefixIndex } from './prefix-index.ts';
import type { Search } from './search.ts';

/**
 * From a text to the assertions of all patterns that match it, without looking at patterns that cannot: exact texts in a map,
 * prefixes in a table, other globs by the literals that they hold. A text has few prefixes, so the cost hardly grows.
 */
export class PatternIndex {
  readonly #exact = new Map<string, AssertionGroup>();
  #prefixes: PrefixIndex | undefined;
  #globs: GlobIndex | undefined;

  /** `text` is the literal of an `exact` pattern and of a prefix, and the whole of a `glob`. No pattern may be given twice. */
  add(kind: PatternKind, text: string, group: AssertionGroup): void {
    if (kind === 'exact') {
      this.#exact.set(text, group);
    } else if (kind === 'glob') {
      this.#globs ??= new GlobIndex();
      this.#globs.add(text, group);
    } else {
      this.#prefixes ??= new PrefixIndex();
      this.#prefixes.add(text, group);
    }
  }

  /** Offers what the assertions of every pattern that matches have to offer. */
  search(text: string, search: Search): void {
    const exact = this.#exact.size === 0 ? undefined : this.#exact.get(text);
    if (exact !== undefined) searchGroup(exact, search);
    this.#prefixes?.search(text, search, searchGroup);
    this.#globs?.search(text, search);
  }

  /** What is seen for a role and an action of the patterns that match the text from there on; without a name as it is only where no pattern is one. */
  glance(text: string, from: number, role: string, action: string | undefined): Glance {
    let seen = this.#exact.size === 0 ? null : this.#glanceAtName(text, role, action);
    if (this.#prefixes !== undefined) seen = earlier(seen, this.#prefixes.glance(text, from, role, action));
    return this.#globs === undefined ? seen : earlier(seen, this.#globs.glance(text, from, role, action));
  }

  #glanceAtName(text: string, role: string, action: string | undefined): Glance {
    const group = this.#exact.get(text);
    if (group !== undefined) return glanceAtGroup(group, role, action);
    return isFolded(text) ? null : undefined;
  }
}
