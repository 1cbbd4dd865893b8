import type { AssertionGroup } from './assertion-group.ts';
import {
  anyUnit,
  emptyLiteral,
  hashed,
  hashedBackwards,
  hashedFolded,
  hashedFoldedBackwards,
  hashedUnit,
  unitBit,
} from './literal-hash.ts';
import { globLiterals, type Pattern } from './pattern.ts';

/** A glob with its assertions, and the next one that shares its literals. */
export interface GlobEntry extends Pattern {
  text: string;
  /** Absent at a node that no glob ends at. */
  group: AssertionGroup | undefined;
  alike: GlobEntry | undefined;
}

/** A length that literals have, in ascending order, and the units at their far ends, as bits. */
interface LiteralLength {
  readonly length: number;
  ends: number;
  next: LiteralLength | undefined;
}

/**
 * A place on the way from a text to the globs that may match it, and the first glob that ends there: most are the only one. Its hash is that of
 * all literals up to it.
 */
interface GlobNode extends GlobEntry {
  readonly hash: number;
  /** Of the literals that lead on from here. */
  lengths: LiteralLength | undefined;
  /** The units at which they begin, as they are read, as bits. */
  starts: number;
  /** The last walk that came here, as a literal may be found in more than one place, and what it found before. */
  seen: number;
  foundBefore: GlobNode | undefined;
  /** Another one at the same place of the table. */
  next: GlobNode | undefined;
}

/** A way through the nodes: how many steps it may still take, below 0 it gave up; and what it found last. */
export interface GlobWalk {
  readonly text: string;
  /** Whether the text is compared as it is. Else it gives up at capitals. */
  readonly isAsIs: boolean;
  left: number;
  found: GlobNode | undefined;
}

const firstSize = 8;
/** So many at one place are looked at to find one that is there already. */
const crowd = 64;
/** Between two literals: no unit of a text. */
const joint = 0x110000;

/**
 * Globs by the literal before the first wildcard, there by the one behind the last (read backwards), there by the longest between: in one
 * table, by the hash of what led up to them. Literals with the same hash share a place, as each glob is compared as a whole in the end.
 */
export class GlobNodes {
  readonly #root: GlobNode = newNode(emptyLiteral);
  /** Its length is a power of two. */
  #table: (GlobNode | undefined)[] = new Array<GlobNode | undefined>(firstSize).fill(undefined);
  #count = 0;
  #walks = 0;

  add(glob: string, group: AssertionGroup): void {
    const { prefix, suffix, inner } = globLiterals(glob);
    const atPrefix = this.#nodeAt(hashed(emptyLiteral, prefix, 0, prefix.length));
    addLength(this.#root, prefix.length, unitBit(prefix, 0), unitBit(prefix, prefix.length - 1));
    const atSuffix = this.#nodeAt(hashedBackwards(jointOf(atPrefix), suffix, 0, suffix.length));
    addLength(atPrefix, suffix.length, unitBit(suffix, suffix.length - 1), unitBit(suffix, 0));
    let node = atSuffix;
    if (inner !== '') {
      node = this.#nodeAt(hashed(jointOf(atSuffix), inner, 0, inner.length));
      addLength(atSuffix, inner.length, unitBit(inner, 0), unitBit(inner, inner.length - 1));
    }
    // The first stays first: it has the smallest rank, so once it matches most of the others need not be compared.
    if (node.group === undefined) {
      node.text = glob;
      node.group = group;
    } else {
      node.alike = { kind: 'glob', text: glob, parts: null, group, alike: node.alike };
    }
  }

  /** Finds all nodes with globs whose literals stand in the text, which begins at `from`. */
  walk(walk: GlobWalk, from: number): void {
    const { text } = walk;
    this.#walks += 1;
    let hash: number | undefined = emptyLiteral;
    let at = from;
    for (let one = this.#root.lengths; one !== undefined; one = one.next) {
      const end = from + one.length;
      walk.left -= 1;
      if (end > text.length || walk.left < 0) return;
      // Most literals end where a part of a name does: one character rules out most lengths.
      if ((one.ends & unitBit(text, end - 1)) === 0) continue;
      hash = readOn(walk, hash, at, end);
      if (hash === undefined) return;
      walk.left -= end - at;
      at = end;
      for (let node = this.#first(hash, walk); node !== undefined; node = withHash(hash, node.next, walk)) {
        this.#walkSuffixes(node, walk, end);
      }
    }
  }

  #walkSuffixes(node: GlobNode, walk: GlobWalk, from: number): void {
    const { text } = walk;
    if ((node.starts & unitBit(text, text.length - 1)) === 0) return;
    let hash: number | undefined = jointOf(node);
    let at = text.length;
    for (let one = node.lengths; one !== undefined; one = one.next) {
      const begin = text.length - one.length;
      walk.left -= 1;
      if (begin < from || walk.left < 0) return;
      if ((one.ends & unitBit(text, begin)) === 0) continue;
      hash = readBack(walk, hash, begin, at);
      if (hash === undefined) return;
      walk.left -= at - begin;
      at = begin;
      for (let next = this.#first(hash, walk); next !== undefined; next = withHash(hash, next.next, walk)) {
        this.#visit(next, walk);
        if (next.lengths !== undefined) this.#walkBetween(next, walk, from, begin);
      }
    }
  }

  /** Looks for literals at each place between the other two. */
  #walkBetween(node: GlobNode, walk: GlobWalk, from: number, to: number): void {
    const { text } = walk;
    const { starts, lengths } = node;
    // None begins where the shortest has no room.
    const last = lengths === undefined ? -1 : to - lengths.length;
    if (last >= from) walk.left -= last + 1 - from;
    for (let at = from; at <= last && walk.left >= 0; at += 1) {
      if ((starts & unitBit(text, at)) !== 0) this.#walkFrom(node, walk, at, to);
    }
  }

  #walkFrom(node: GlobNode, walk: GlobWalk, from: number, to: number): void {
    const { text } = walk;
    let hash: number | undefined = jointOf(node);
    let at = from;
    for (let one = node.lengths; one !== undefined; one = one.next) {
      const end = from + one.length;
      walk.left -= 1;
      if (end > to || walk.left < 0) return;
      if ((one.ends & unitBit(text, end - 1)) === 0) continue;
      hash = readOn(walk, hash, at, end);
      if (hash === undefined) return;
      walk.left -= end - at;
      at = end;
      for (let next = this.#first(hash, walk); next !== undefined; next = withHash(hash, next.next, walk)) {
        this.#visit(next, walk);
      }
    }
  }

  #visit(node: GlobNode, walk: GlobWalk): void {
    if (node.group === undefined || node.seen === this.#walks) return;
    node.seen = this.#walks;
    node.foundBefore = walk.found;
    walk.found = node;
  }

  #first(hash: number, walk: GlobWalk): GlobNode | undefined {
    return withHash(hash, this.#table[hash & (this.#table.length - 1)], walk);
  }

  /** A node with the hash. Where many meet at one place, as on purpose, it may be another one of the same hash. */
  #nodeAt(hash: number): GlobNode {
    let node = this.#table[hash & (this.#table.length - 1)];
    for (let left = crowd; node !== undefined && left > 0; left -= 1) {
      if (node.hash === hash) return node;
      node = node.next;
    }
    if (this.#count * 2 === this.#table.length) this.#grow();
    this.#count += 1;
    const added = newNode(hash);
    place(this.#table, added);
    return added;
  }

  #grow(): void {
    const table = new Array<GlobNode | undefined>(this.#table.length * 2).fill(undefined);
    for (const first of this.#table) {
      for (let node = first; node !== undefined; ) {
        const { next } = node;
        place(table, node);
        node = next;
      }
    }
    this.#table = table;
  }
}

function newNode(hash: number): GlobNode {
  // What every walk looks at stands first, and so lies together in memory.
  return {
    hash,
    next: undefined,
    group: undefined,
    parts: null,
    lengths: undefined,
    alike: undefined,
    starts: 0,
    seen: 0,
    foundBefore: undefined,
    kind: 'glob',
    text: '',
  };
}

function place(table: (GlobNode | undefined)[], node: GlobNode): void {
  const slot = node.hash & (table.length - 1);
  node.next = table[slot];
  table[slot] = node;
}

function jointOf({ hash }: GlobNode): number {
  return hashedUnit(hash, joint);
}

/** Adds a length of literals that lead on from the node, with the bits of the units at both ends of one. */
function addLength(node: GlobNode, length: number, start: number, end: number): void {
  node.starts |= length === 0 ? anyUnit : start;
  let before: LiteralLength | undefined;
  let one = node.lengths;
  while (one !== undefined && one.length < length) {
    before = one;
    one = one.next;
  }
  const ends = length === 0 ? anyUnit : end;
  if (one?.length === length) {
    one.ends |= ends;
    return;
  }
  const added = { length, ends, next: one };
  if (before === undefined) node.lengths = added;
  else before.next = added;
}

/** From a node on, at its place, the first one with the hash. */
function withHash(hash: number, from: GlobNode | undefined, walk: GlobWalk): GlobNode | undefined {
  let node = from;
  for (; node !== undefined && node.hash !== hash; node = node.next) {
    walk.left -= 1;
    if (walk.left < 0) return undefined;
  }
  return node;
}

/** The hash with what stands there in the text; `undefined` where the walk gives up. */
function readOn(walk: GlobWalk, hash: number, from: number, end: number): number | undefined {
  if (walk.isAsIs) return hashed(hash, walk.text, from, end);
  return hashedFolded(hash, walk.text, from, end) ?? giveUp(walk);
}

/** The same, read from `end` to `from`. */
function readBack(walk: GlobWalk, hash: number, from: number, end: number): number | undefined {
  if (walk.isAsIs) return hashedBackwards(hash, walk.text, from, end);
  return hashedFoldedBackwards(hash, walk.text, from, end) ?? giveUp(walk);
}

function giveUp(walk: GlobWalk): undefined {
  walk.left = -1;
}
