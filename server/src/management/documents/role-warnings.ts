import { type DomainName, foldAscii } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import type { DocumentProblem } from '../../errors.ts';
import type { DomainContent, MemberRecord } from '../../model/records.ts';
import type { DomainDocument } from './parse-document.ts';
import { placeOf } from './places.ts';

/** Roles of a document that allow something and that nobody has, as no one can get them. `now`: milliseconds since the epoch. Pure. */
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
  return content.roles.flatMap((role) => {
    const full = `${content.name}:role.${role.name}`;
    if (!used.has(full)) return [];
    const at = (field: readonly string[], message: string) =>
      source.problem(placeOf(source.value, ['roles', role.name, ...field]), message, 'key');
    if (role.trust === undefined) {
      if (role.members.some((member) => isSomebody(member, after, now))) return [];
      return [at([], 'nobody has this role, so its assertions allow nothing: give it members, or remove it')];
    }
    const trusted = after.get(role.trust);
    if (trusted === undefined || lends(trusted, full)) return [];
    return [at(['trust'], `domain \`${role.trust}\` has no assertion that allows \`assume_role\` on \`${full}\``)];
  });
}

/** Whether a member may stand for somebody: groups that are not known may. */
function isSomebody(member: MemberRecord, after: ReadonlyMap<DomainName, DomainContent>, now: number): boolean {
  const counts = ({ disabled, expires }: MemberRecord) => !disabled && (expires === undefined || expires > now);
  if (!counts(member)) return false;
  const [owner = '', group] = member.name.split(':group.');
  // Parsed with the member.
  const found = after.get(owner as DomainName)?.groups.find(({ name }) => name === group);
  return found === undefined || found.members.some(counts);
}

function lends({ policies }: DomainContent, role: string): boolean {
  return policies.some(
    ({ active, assertions }) =>
      active &&
      assertions.some(
        ({ effect, action, resource }) =>
          effect === 'ALLOW' &&
          matchesPattern(foldAscii(action), 'assume_role') &&
          matchesPattern(foldAscii(resource), role),
      ),
  );
}
