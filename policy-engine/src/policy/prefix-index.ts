import { type AssertionGroup, glanceAtGroup } from './assertion-group.ts';
import { earlier, type Glance, longestLook, longestText } from './glance.ts';
import { anyUnit, emptyLiteral, hashed, hashedFolded, unitBit } from './literal-hash.ts';
import { startsWith } from './pattern.ts';
import type { Work } from './work.ts';

interface Entry {
  readonly prefix: string;
  readonly hash: number;
  readonly group: AssertionGroup;
  /** Whether it was found once: it lies where others do that were. */
  readonly isNear: boolean;
  /** Another one in the same place of the table. */
  next: Entry | undefined;
}

const firstSize = 8;

/**
 * Prefixes in a table by their hash. A text is hashed once, character by character, and looked up where a prefix may end: as often as prefixes
 * have different lengths. What a look-up meets is spent of its work, so hashes that collide on purpose cost their author's decisions alone.
 */
export class PrefixIndex {
  /** Ascending, each once. */
  readonly #lengths: number[] = [];
  /** For each length the last units of its prefixes, as bits (`unitBit`). */
  readonly #ends: number[] = [];
  /** Its length is a power of two. */
  #table: (Entry | undefined)[] = emptyTable(firstSize);
  #count = 0;

  /** No prefix may be added twice. */
  add(prefix: string, group: AssertionGroup): void {
    this.#addLength(prefix);
    if (this.#count === this.#table.length) this.#grow();
    this.#count += 1;
    const hash = hashed(emptyLiteral, prefix, 0, prefix.length);
    place(this.#table, { prefix, hash, group, isNear: false, next: undefined });
  }

  /** Calls `visit` with what was added for each prefix of the text. */
  search<W extends Work>(text: string, work: W, visit: (group: AssertionGroup, work: W) => void): void {
    const table = this.#table;
    const lengths = this.#lengths;
    let hash = emptyLiteral;
    let at = 0;
    for (let i = 0; i < lengths.length; i += 1) {
      const length = lengths[i] ?? 0;
      if (length > text.length) return;
      work.spend(1 + length - at);
      hash = hashed(hash, text, at, length);
      at = length;
      for (let entry = table[hash & (table.length - 1)]; entry !== undefined; entry = entry.next) {
        work.spend(1);
        if (entry.hash !== hash || entry.prefix.length !== length) continue;
        work.spend(length);
        if (startsWith(text, entry.prefix)) visit(entry.group, work);
      }
    }
  }

  /** What is seen for a role and an action of the prefixes that the text has from there on. */
  glance(text: string, from: number, role: string, action: string | undefined): Glance {
    const lengths = this.#lengths;
    const ends = this.#ends;
    if (lengths.length > longestLook || text.length - from > longestText) return undefined;
    let seen: Glance = null;
    let hash: number | undefined = emptyLiteral;
    let at = from;
    for (let i = 0; i < lengths.length; i += 1) {
      const end = from + (lengths[i] ?? 0);
      if (end > text.length) break;
      // Most prefixes end where a part of a name does: one character rules out most lengths.
      if (((ends[i] ?? 0) & unitBit(text, end - 1)) === 0) continue;
      hash = hashedFolded(hash, text, at, end);
      if (hash === undefined) return undefined;
      at = end;
      const more = this.#glanceAt(hash, text, from, end, role, action);
      if (more !== null) seen = earlier(seen, more);
    }
    return seen;
  }

  /** What is seen of the prefix that is the part of the text with this hash. */
  // biome-ignore lint/complexity/useMaxParams: an object for them takes longer to make than the rest
  #glanceAt(hash: number, text: string, from: number, end: number, role: string, action: string | undefined): Glance {
    let entry = this.#table[hash & (this.#table.length - 1)];
    for (let left = longestLook; left > 0; left -= 1) {
      if (entry === undefined) return null;
      const { prefix } = entry;
      if (entry.hash === hash && from + prefix.length === end) {
        // The assertions first: while they come from memory, the prefix does as well.
        const seen = glanceAtGroup(entry.group, role, action);
        if (text.startsWith(prefix, from)) {
          return entry.isNear ? seen : glanceAtGroup(this.#bringNear(entry), role, action);
        }
      }
      entry = entry.next;
    }
    return undefined;
  }

  /**
   * Puts a copy of an entry first in its place, with a copy of its assertion: what is made at the same time lies together in memory. Of a
   * large policy little is asked for, and each part of it would come from another page.
   */
  #bringNear(entry: Entry): AssertionGroup {
    const table = this.#table;
    const slot = entry.hash & (table.length - 1);
    const group = copyOfOne(entry.group);
    table[slot] = { ...entry, group, isNear: true, next: without(table[slot], entry) };
    return group;
  }

  #addLength(prefix: string): void {
    const lengths = this.#lengths;
    let at = 0;
    while (at < lengths.length && (lengths[at] ?? 0) < prefix.length) at += 1;
    if (lengths[at] !== prefix.length) {
      lengths.splice(at, 0, prefix.length);
      this.#ends.splice(at, 0, 0);
    }
    this.#ends[at] = (this.#ends[at] ?? 0) | (prefix.length === 0 ? anyUnit : unitBit(prefix, prefix.length - 1));
  }

  #grow(): void {
    const table = emptyTable(this.#table.length * 2);
    for (const first of this.#table) {
      for (let entry = first; entry !== undefined; ) {
        const { next } = entry;
        place(table, entry);
        entry = next;
      }
    }
    this.#table = table;
  }
}

/** A chain and an index stay where they are: they may be long. */
function copyOfOne(group: AssertionGroup): AssertionGroup {
  return 'rank' in group && group.next === undefined ? { ...group } : group;
}

/** The entries of a place but one of them. */
function without(first: Entry | undefined, one: Entry): Entry | undefined {
  if (first === one) return one.next;
  let entry = first;
  while (entry !== undefined && entry.next !== one) entry = entry.next;
  if (entry !== undefined) entry.next = one.next;
  return first;
}

function emptyTable(size: number): (Entry | undefined)[] {
  return new Array<Entry | undefined>(size).fill(undefined);
}

function place(table: (Entry | undefined)[], entry: Entry): void {
  const slot = entry.hash & (table.length - 1);
  entry.next = table[slot];
  table[slot] = entry;
}
