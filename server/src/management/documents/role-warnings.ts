import { type DomainName, foldAscii } from '@signet/policy-engine/names';
import { matchesPattern, Work, WorkExceededError } from '@signet/policy-engine/policy';
import type { DocumentProblem } from '../../errors.ts';
import type { DomainContent, MemberRecord } from '../../model/records.ts';
import type { DomainDocument } from './parse-document.ts';
import { placeOf } from './places.ts';

/** Work of finding the roles that trusted domains lend, in units of about one compared character: beyond it nothing is said of them. */
const maxPatternWork = 10_000_000;

/** Warnings about roles of a document that allow something and that no principal can hold. `now`: milliseconds since the epoch. Pure. */
export function roleWarnings(
  { source, content }: DomainDocument,
  after: ReadonlyMap<DomainName, DomainContent>,
  now: number,
): readonly DocumentProblem[] {
  const used = new Set(
    content.policies
      .filter(({ active }) => active)
      .flatMap(({ assertions }) => assertions)
      .flatMap(({ effect, role }) => (effect === 'ALLOW' ? [role] : [])),
  );
  const groups = new GroupWorld(after, now);
  const lenders = new Lenders(after);
  return content.roles.flatMap((role) => {
    const full = `${content.name}:role.${role.name}`;
    // Who is in a role that can be asked for changes by the hour.
    if (!used.has(full) || role.requestSeconds !== undefined) return [];
    const at = (field: readonly string[], message: string) =>
      source.problem(placeOf(source.value, ['roles', role.name, ...field]), message, 'key');
    if (role.trust === undefined) {
      if (role.members.some((member) => counts(member, now) && !groups.isEmptyGroup(member.name))) return [];
      return [at([], 'the role has no members, so its assertions have no effect: add members, or remove it')];
    }
    if (lenders.mayLend(role.trust, full)) return [];
    return [at(['trust'], `domain \`${role.trust}\` has no assertion that allows \`assume_role\` on \`${full}\``)];
  });
}

function counts({ disabled, expires }: MemberRecord, now: number): boolean {
  return !disabled && (expires === undefined || expires > now);
}

/** The groups of some domains. Each domain is sorted out once, however many roles have its groups. */
class GroupWorld {
  readonly #after: ReadonlyMap<DomainName, DomainContent>;
  readonly #now: number;
  readonly #empty = new Map<string, ReadonlySet<string>>();

  constructor(after: ReadonlyMap<DomainName, DomainContent>, now: number) {
    this.#after = after;
    this.#now = now;
  }

  /** True if a member is a group without members: an unknown one may have some. */
  isEmptyGroup(member: string): boolean {
    const [owner = '', group] = member.split(':group.');
    if (group === undefined) return false;
    const empty = this.#empty.get(owner) ?? this.#emptyOf(owner);
    this.#empty.set(owner, empty);
    return empty.has(group);
  }

  #emptyOf(owner: string): ReadonlySet<string> {
    // Parsed with the member.
    const { groups = [] } = this.#after.get(owner as DomainName) ?? {};
    return new Set(
      groups.filter(({ members }) => !members.some((one) => counts(one, this.#now))).map(({ name }) => name),
    );
  }
}

/** Subject of a domain's assertions for `assume_role`. */
interface Lent {
  readonly names: ReadonlySet<string>;
  readonly patterns: readonly string[];
}

class Lenders {
  readonly #after: ReadonlyMap<DomainName, DomainContent>;
  readonly #lent = new Map<DomainName, Lent>();
  readonly #work = new Work(maxPatternWork);

  constructor(after: ReadonlyMap<DomainName, DomainContent>) {
    this.#after = after;
  }

  /** True if a domain lends a role, or may do so as far as is known. */
  mayLend(domain: DomainName, role: string): boolean {
    const content = this.#after.get(domain);
    if (content === undefined) return true;
    const lent = this.#lent.get(domain) ?? lentBy(content);
    this.#lent.set(domain, lent);
    if (lent.names.has(role)) return true;
    try {
      return lent.patterns.some((pattern) => matchesPattern(pattern, role, this.#work));
    } catch (error) {
      if (error instanceof WorkExceededError) return true;
      throw error;
    }
  }
}

function lentBy({ policies }: DomainContent): Lent {
  const resources = policies
    .filter(({ active }) => active)
    .flatMap(({ assertions }) => assertions)
    .filter(({ effect, action }) => effect === 'ALLOW' && matchesPattern(foldAscii(action), 'assume_role'))
    .map(({ resource }) => foldAscii(resource));
  return { names: new Set(resources), patterns: [...new Set(resources.filter((resource) => /[*?]/.test(resource)))] };
}
