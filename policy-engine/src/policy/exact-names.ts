import { runAtOnce, type Steps } from '../steps/steps.ts';
import type { CompiledAssertion } from './assertion.ts';
import { type AssertionGroup, searchGroup } from './assertion-group.ts';
import type { AssertionTable } from './assertion-table.ts';
import { groupOfResource } from './index-assertions.ts';
import { hasCapitals, hashFolded } from './name-hash.ts';
import type { Search } from './search.ts';
import { sliceLength } from './steps.ts';
import type { Work } from './work.ts';

/** The groups of so many assertions at one place are made when the policy is compiled: no question waits for more. */
const crowd = 64;
/** So many take some hundredths of a millisecond; a function that runs longer is compiled while it runs, and once more. */
const addedAtOnce = 512;
/** In place of an assertion. */
const none = -1;
/** Numbers for each assertion, together as they are looked at together: the hash of its name, and the earlier one at the same place. */
const columns = 2;

/**
 * From the name of a resource to its assertions: a table of numbers, in which the garbage collector has nothing to look at. What the
 * assertions of a name need is made when the name is first asked for.
 */
export class ExactNames {
  readonly #table: AssertionTable;
  /** Where names begin behind their domain. */
  readonly #from: number;
  /** The latest assertion at each place; a power of two of them. */
  readonly #heads: Int32Array;
  /** At each place one bit for each hash that is there, by what of it does not tell its place. */
  readonly #marks: Uint8Array;
  readonly #rows: Int32Array;
  /** At the latest assertion of each name that was asked for, what was made of its assertions. */
  readonly #named: (AssertionGroup | undefined)[];

  private constructor(table: AssertionTable, from: number) {
    const length = table.namedPlaces;
    this.#table = table;
    this.#from = from;
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(length + 1))).fill(none);
    this.#marks = new Uint8Array(this.#heads.length);
    this.#rows = new Int32Array(columns * length);
    this.#named = new Array<AssertionGroup | undefined>(length).fill(undefined);
  }

  /** Of the assertions whose resource has no wildcard. */
  static *build(table: AssertionTable, from: number): Steps<ExactNames> {
    const names = new ExactNames(table, from);
    // How many there are at each place, up to `crowd`.
    const counts = new Uint8Array(names.#heads.length);
    for (const { from, to } of table.namedRanges) {
      for (let begin = from; begin < to; begin += addedAtOnce) {
        const end = Math.min(begin + addedAtOnce, to);
        names.#addAll(begin, table.hashesOf(begin, end), counts);
        yield;
      }
    }
    for (let place = counts.indexOf(crowd); place >= 0; place = counts.indexOf(crowd, place + 1)) {
      yield* names.#groupAll(place);
      yield;
    }
    return names;
  }

  /** The assertions of a resource; `null`: that there are none; `undefined` where it takes a search to know. */
  glance(resource: string): AssertionGroup | null | undefined {
    if (this.#rows.length === 0) return null;
    const hash = hashFolded(resource, this.#from);
    if (hash === hasCapitals) return undefined;
    const place = hash & (this.#heads.length - 1);
    // Few of the names that are not here get further.
    if (((this.#marks[place] ?? 0) & markOf(hash)) === 0) return null;
    let at = this.#heads[place] ?? none;
    for (let left = crowd; left > 0; left -= 1) {
      if (at < 0) return null;
      if (this.#rows[columns * at] === hash) {
        const group = this.#groupNamed(at, resource);
        if (group !== undefined) return group;
      }
      at = this.#earlier(at);
    }
    return undefined;
  }

  /** Offers what the assertions of the resource that is asked for have to offer. */
  search(search: Search): void {
    if (this.#rows.length === 0) return;
    const hash = hashFolded(search.given, this.#from);
    const group =
      hash === hasCapitals
        ? this.#find(search.text, hashFolded(search.text, this.#from), search)
        : this.#find(search.given, hash, search);
    if (group !== undefined) searchGroup(group, search);
  }

  #find(text: string, hash: number, work: Work): AssertionGroup | undefined {
    work.spend(1);
    for (let at = this.#heads[hash & (this.#heads.length - 1)] ?? none; at >= 0; at = this.#earlier(at)) {
      const group = this.#rows[columns * at] === hash ? this.#groupNamed(at, text) : undefined;
      if (group !== undefined) return group;
      work.spend(1);
    }
    return undefined;
  }

  /** The assertions of a name, if it is that of the assertion at that place. */
  #groupNamed(at: number, text: string): AssertionGroup | undefined {
    const named = this.#named[at];
    if (named !== undefined) return named.name === text ? named : undefined;
    return this.#table.isNamed(at, text) ? this.#groupAt(at, text) : undefined;
  }

  #earlier(at: number): number {
    return this.#rows[columns * at + 1] ?? none;
  }

  /** Adds those from a place on whose hashes these are. `counts` are how many there are at each place, up to `crowd`. */
  #addAll(from: number, hashes: Int32Array, counts: Uint8Array): void {
    const heads = this.#heads;
    const rows = this.#rows;
    const marks = this.#marks;
    for (let index = 0; index < hashes.length; index += 1) {
      const at = from + index;
      const hash = hashes[index] as number;
      const place = hash & (heads.length - 1);
      rows[columns * at] = hash;
      rows[columns * at + 1] = heads[place] as number;
      heads[place] = at;
      marks[place] = (marks[place] as number) | markOf(hash);
      const count = counts[place] as number;
      if (count < crowd) counts[place] = count + 1;
    }
  }

  #groupAt(latest: number, text: string): AssertionGroup {
    const group: number[] = [];
    for (let at = latest; at >= 0; at = this.#earlier(at)) {
      if (this.#table.isNamed(at, text)) group.push(at);
    }
    return runAtOnce(this.#make(group));
  }

  /** For names with many assertions, and for many names at one place. */
  *#groupAll(place: number): Steps<void> {
    const byName = new Map<string, number[]>();
    let count = 0;
    for (let at = this.#heads[place] ?? none; at >= 0; at = this.#earlier(at)) {
      const name = this.#table.nameAt(at);
      const group = byName.get(name);
      if (group === undefined) byName.set(name, [at]);
      else group.push(at);
      count += 1;
      if (count % sliceLength === 0) yield;
    }
    for (const group of byName.values()) yield* this.#make(group);
  }

  /** Makes the group of a name, from the places of its assertions beginning with the latest. */
  *#make(places: readonly number[]): Steps<AssertionGroup> {
    const [latest = 0] = places;
    const { resource } = this.#table.at(latest);
    const assertions: CompiledAssertion[] = [];
    for (const at of places) {
      assertions.push(this.#table.at(at, resource));
      if (assertions.length % sliceLength === 0) yield;
    }
    const group = yield* groupOfResource(assertions.sort((a, b) => a.rank - b.rank));
    group.name = this.#table.textAt(latest);
    this.#named[latest] = group;
    return group;
  }
}

/** One of eight bits: from the upper ones of a hash, of which the lower ones tell its place. */
function markOf(hash: number): number {
  return 1 << (hash >>> 28);
}
