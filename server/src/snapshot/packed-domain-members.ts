import type { DomainName, RoleName } from '@signet/policy-engine/names';
import { unpackLists } from '../model/packed-members.ts';
import type { PackedDomain, PackedMembers } from '../model/snapshot-source.ts';
import { runAtOnce, type Steps, sliceLength } from '../steps/steps.ts';
import { addAll, MembersBuilder } from './compile-members.ts';
import type { DomainMembers } from './domain-members.ts';

/** Members of a stored domain: indexed at once if more than a slice, else at the first query. Pure. */
export function* packedMembersInSteps({ name, members }: PackedDomain): Steps<DomainMembers> {
  const count = members.reduce((sum, part) => sum + part.count, 0);
  return count > sliceLength ? yield* arrangeInSteps(name, members) : new PackedDomainMembers(name, members);
}

function* arrangeInSteps(domain: DomainName, packed: readonly PackedMembers[]): Steps<DomainMembers> {
  const builder = new MembersBuilder();
  for (const part of packed) {
    for (const { kind, name, plain, others } of unpackLists(part)) {
      // Parsed when it was written.
      const add = kind === 'role' ? builder.role(name as RoleName) : builder.group(`${domain}:group.${name}`);
      for (const member of plain) add(member, Number.POSITIVE_INFINITY);
      yield* addAll(others, add);
    }
    yield;
  }
  return builder.build();
}

/** The same members, arranged by the first look at them. */
class PackedDomainMembers implements DomainMembers {
  readonly #domain: DomainName;
  #packed: readonly PackedMembers[];
  #arranged: DomainMembers | undefined;

  constructor(domain: DomainName, packed: readonly PackedMembers[]) {
    this.#domain = domain;
    this.#packed = packed;
  }

  get names() {
    return this.#all().names;
  }

  get prefixes() {
    return this.#all().prefixes;
  }

  get prefixLengths() {
    return this.#all().prefixLengths;
  }

  get groups() {
    return this.#all().groups;
  }

  get groupDomains() {
    return this.#all().groupDomains;
  }

  get groupMembers() {
    return this.#all().groupMembers;
  }

  #all(): DomainMembers {
    if (this.#arranged === undefined) {
      this.#arranged = runAtOnce(arrangeInSteps(this.#domain, this.#packed));
      this.#packed = [];
    }
    return this.#arranged;
  }
}
