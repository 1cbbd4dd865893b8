import type { Member } from './role-snapshot.ts';

/** A copy shares all pages but those that change. */
const pageLength = 512;

/** The members of a role, sorted by name. Never changed; a changed copy costs what changes and not what there is. */
export class MemberList implements Iterable<Member> {
  readonly #pages: readonly (readonly Member[])[];

  private constructor(pages: readonly (readonly Member[])[]) {
    this.#pages = pages;
  }

  /** Of members sorted by name. */
  static of(members: Iterable<Member>): MemberList {
    return members instanceof MemberList ? members : new MemberList(pagesOf([...members]));
  }

  /** After a change: `fresh` are all members that are called one of `names`, the others stay. Itself when nothing changes. */
  with(names: readonly string[], fresh: Iterable<Member>): MemberList {
    const found = new Map(Array.from(fresh, (member) => [member.name, member]));
    const changed = new Map<number, Member[]>();
    for (const name of names) {
      const at = this.#pageOf(name);
      const page = changed.get(at) ?? this.#pages[at] ?? [];
      const place = placeOf(page, name);
      const known = page[place]?.name === name;
      const member = found.get(name);
      if (!known && member === undefined) continue;
      const copy = changed.get(at) ?? [...page];
      copy.splice(place, known ? 1 : 0, ...(member === undefined ? [] : [member]));
      changed.set(at, copy);
    }
    if (changed.size === 0) return this;
    const pages = this.#pages.length === 0 ? [[]] : this.#pages;
    return new MemberList(pages.flatMap((page, at) => pagesOf(changed.get(at) ?? page)));
  }

  *[Symbol.iterator](): Iterator<Member> {
    for (const page of this.#pages) yield* page;
  }

  /** The last page that begins at or before the name. */
  #pageOf(name: string): number {
    let [low, high] = [0, this.#pages.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#pages[middle]?.[0]?.name ?? '') <= name) low = middle;
      else high = middle - 1;
    }
    return Math.max(low, 0);
  }
}

/** A page that has grown to twice its length becomes several, and an empty one none. */
function pagesOf(members: readonly Member[]): readonly (readonly Member[])[] {
  if (members.length === 0) return [];
  if (members.length <= 2 * pageLength) return [members];
  const count = Math.ceil(members.length / pageLength);
  return Array.from({ length: count }, (_, page) => members.slice(page * pageLength, (page + 1) * pageLength));
}

/** Where the name stands, or would have to. */
function placeOf(members: readonly Member[], name: string): number {
  let [low, high] = [0, members.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((members[middle]?.name ?? '') < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
