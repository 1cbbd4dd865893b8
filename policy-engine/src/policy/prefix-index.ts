import type { AssertionGroup } from './assertion-group.ts';
import { startsWith } from './pattern.ts';
import type { Work } from './work.ts';

interface Entry {
  readonly prefix: string;
  readonly hash: number;
  readonly group: AssertionGroup;
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
  /** Its length is a power of two. */
  #table: (Entry | undefined)[] = emptyTable(firstSize);
  #count = 0;

  /** No prefix may be added twice. */
  add(prefix: string, group: AssertionGroup): void {
    if (!this.#lengths.includes(prefix.length)) {
      this.#lengths.push(prefix.length);
      this.#lengths.sort((a, b) => a - b);
    }
    if (this.#count === this.#table.length) this.#grow();
    this.#count += 1;
    place(this.#table, { prefix, hash: hashed(firstHash, prefix, 0, prefix.length), group, next: undefined });
  }

  /** Calls `visit` with what was added for each prefix of the text. */
  search<W extends Work>(text: string, work: W, visit: (group: AssertionGroup, work: W) => void): void {
    const table = this.#table;
    const lengths = this.#lengths;
    let hash = firstHash;
    let at = 0;
    for (let i = 0; i < lengths.length; i += 1) {
      const length = lengths[i] ?? 0;
      if (length > text.length) return;
      work.spend(1 + length - at);
      hash = hashed(hash, text, at, length);
      at = length;
      for (let entry = table[hash & (table.length - 1)]; entry !== undefined; entry = entry.next) {
        work.spend(1);
        if (entry.hash === hash && entry.prefix.length === length && startsWith(text, entry.prefix)) {
          visit(entry.group, work);
        }
      }
    }
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

function emptyTable(size: number): (Entry | undefined)[] {
  return new Array<Entry | undefined>(size).fill(undefined);
}

function place(table: (Entry | undefined)[], entry: Entry): void {
  const slot = entry.hash & (table.length - 1);
  entry.next = table[slot];
  table[slot] = entry;
}

const firstHash = 0x811c9dc5 | 0;

/** The hash of a text up to `end`, from the one up to `from`; its lower bits depend on all characters. */
function hashed(hash: number, text: string, from: number, end: number): number {
  let next = hash;
  for (let at = from; at < end; at += 1) {
    next = Math.imul(next ^ text.charCodeAt(at), 0x01000193);
    next ^= next >>> 15;
  }
  return next;
}
