import { type AssertionGroup, glanceAtGroup, mayOffer, searchGroup } from './assertion-group.ts';
import { earlier, type Glance, longestLook, longestText, matchesGlobGiven } from './glance.ts';
import { type GlobEntry, GlobNodes, type GlobWalk } from './glob-nodes.ts';
import { globParts } from './glob-parts.ts';
import { matchesGlob } from './pattern.ts';
import type { Search } from './search.ts';

/** What a look may take, in units of work. */
const stepsOfLook = longestLook * longestText;

/** From a text to the assertions of the globs that match it; only globs whose literals are in the text are compared with it. */
export class GlobIndex {
  readonly #nodes = new GlobNodes();

  add(glob: string, group: AssertionGroup): void {
    this.#nodes.add(glob, group);
  }

  /** Offers what the assertions of every glob that matches have to offer. */
  search(text: string, search: Search): void {
    const walk: GlobWalk = { text, isAsIs: true, left: search.remaining, found: undefined };
    this.#nodes.walk(walk, 0);
    search.spend(search.remaining - walk.left);
    for (let node = walk.found; node !== undefined; node = node.foundBefore) searchEntries(node, text, search);
  }

  /** What is seen for a role and an action of the globs that match the text from there on. */
  glance(text: string, from: number, role: string, action: string | undefined): Glance {
    if (text.length - from > longestText) return undefined;
    const walk: GlobWalk = { text, isAsIs: false, left: stepsOfLook, found: undefined };
    this.#nodes.walk(walk, from);
    if (walk.left < 0) return undefined;
    let seen: Glance = null;
    let left = longestLook;
    for (let node = walk.found; node !== undefined; node = node.foundBefore) {
      for (let entry: GlobEntry | undefined = node; entry !== undefined; entry = entry.alike) {
        left -= 1;
        seen = left < 0 ? undefined : earlier(seen, glanceAtEntry(entry, text, from, role, action));
        if (seen === undefined) return undefined;
      }
    }
    return seen;
  }
}

/** The assertions first: most globs that share their literals with a text match it, and are for somebody else. */
// biome-ignore lint/complexity/useMaxParams: an object for them takes longer to make than to compare
function glanceAtEntry(entry: GlobEntry, text: string, from: number, role: string, action: string | undefined): Glance {
  const seen = entry.group === undefined ? null : glanceAtGroup(entry.group, role, action);
  if (seen === null) return seen;
  const matches = matchesGlobGiven(entry, text, from);
  if (matches === undefined) return undefined;
  return matches ? seen : null;
}

function searchEntries(first: GlobEntry, text: string, search: Search): void {
  for (let entry: GlobEntry | undefined = first; entry !== undefined; entry = entry.alike) {
    const { group } = entry;
    if (group === undefined || !mayOffer(group, search)) continue;
    if (entry.parts === null) entry.parts = globParts(entry.text);
    if (matchesGlob(entry.text, entry.parts, text, search)) searchGroup(group, search);
  }
}
