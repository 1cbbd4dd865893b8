import { didYouMean } from '@signet/policy-engine/internal/nearest';
import type { DomainName } from '@signet/policy-engine/names';
import type { DocumentProblem } from '../../errors.ts';
import type { DomainChange } from '../../model/domain-change.ts';
import type { DomainContent } from '../../model/records.ts';
import { diffDomains } from '../../store/diff-domains.ts';
import type { Sees } from '../change-rule.ts';
import { withoutDnsName } from '../dns-warnings.ts';
import type { DocumentChange } from '../document-refusals.ts';
import { type KnownServices, missingMembers, serviceOf } from '../member-warnings.ts';
import { consentFault, faultOf, type GroupNames, groupNames, newReferences } from '../new-references.ts';
import { byPlace, maxProblems, placeOf } from './places.ts';

/** References of the documents to names elsewhere that do not exist. */
interface ReferenceReport {
  readonly problems: readonly DocumentProblem[];
  readonly warnings: readonly DocumentProblem[];
}

/** Domains to which the documents may refer. */
interface ReferenceWorld extends KnownServices {
  /** Domains after the documents are applied. */
  readonly after: ReadonlyMap<DomainName, DomainContent>;
  /** Absent: the author may look at everything. */
  readonly sees?: Sees | undefined;
}

/** The domains whose groups are members, and those that roles trust: what the decisions of these domains depend on. */
export function neededDomains(contents: readonly DomainContent[]): ReadonlySet<DomainName> {
  const needed = new Set<DomainName>();
  for (const { name, roles } of contents) {
    for (const { trust, members } of roles) {
      if (trust !== undefined && trust !== name) needed.add(trust);
      for (const member of members) {
        const owner = groupDomain(member.name);
        if (owner !== undefined && owner !== name) needed.add(owner);
      }
    }
  }
  return needed;
}

/** The domains of services that are members of roles and groups. */
export function memberDomains(contents: readonly DomainContent[]): ReadonlySet<DomainName> {
  return new Set(memberServices(contents).map(({ domain }) => domain));
}

/** The services that roles and groups name, once for each time. */
export function memberServices(contents: readonly DomainContent[]): NonNullable<ReturnType<typeof serviceOf>>[] {
  const members = contents.flatMap(({ roles, groups }) => [...roles, ...groups].flatMap((list) => list.members));
  return members.flatMap(({ name }) => serviceOf(name) ?? []);
}

function groupDomain(member: string): DomainName | undefined {
  const colon = member.indexOf(':');
  // Parsed with the member.
  return colon < 0 ? undefined : (member.slice(0, colon) as DomainName);
}

/**
 * Looks up every group, trusted domain and service that the documents name. A missing group or trusted domain is a problem where the
 * reference is new, else a warning; a service that does not exist is one too: it may come later. `services` has those of the documents.
 */
export function checkReferences(changes: readonly DocumentChange[], world: ReferenceWorld): ReferenceReport {
  const problems: (readonly DocumentProblem[])[] = [];
  const warnings: (readonly DocumentProblem[])[] = [];
  for (const { document, after: content, change } of changes) {
    const { source } = document;
    const at = ({ path, message }: Finding) => source.problem(placeOf(source.value, path), message);
    const { fresh, old } = brokenReferences(content, change, world);
    problems.push(fresh.map(at).sort(byPlace));
    const nameless = namelessServices(change);
    warnings.push([...old, ...missingServices(content, world), ...nameless].map(at).sort(byPlace));
  }
  return { problems: problems.flat(), warnings: warnings.flat() };
}

interface Finding {
  readonly path: readonly string[];
  readonly message: string;
}

function brokenReferences(content: DomainContent, change: DomainChange, { after, sees }: ReferenceWorld) {
  const keyOf = ({ path }: { readonly path: readonly string[] }) => JSON.stringify(path);
  const isFresh = new Set(newReferences(change).map(keyOf));
  const groups = new Map<DomainName, GroupNames>();
  const groupsOf = (domain: DomainName) => {
    const owner = after.get(domain);
    if (owner !== undefined && !groups.has(domain))
      groups.set(
        domain,
        groupNames(
          domain,
          owner.groups.map(({ name }) => name),
        ),
      );
    return groups.get(domain);
  };
  let hints = maxProblems;
  const broken = newReferences(diffDomains(undefined, content)).flatMap((reference): Finding[] => {
    const refused = sees && consentFault(reference, content.name, sees);
    // Whether a group exists that the author may not look at is not told, also where it is a member already.
    if (refused !== undefined)
      return isFresh.has(keyOf(reference)) ? [{ path: refused.path, message: refused.error.message }] : [];
    const fault = faultOf(reference, groupsOf(reference.domain));
    if (fault === undefined) return [];
    hints -= 1;
    const { group, domain } = reference;
    const hint = group === undefined || hints < 0 ? '' : didYouMean(group, groupsOf(domain) ?? []);
    return [{ path: fault.path, message: `${fault.error.message}${hint}` }];
  });
  return {
    fresh: broken.filter((finding) => isFresh.has(keyOf(finding))),
    old: broken.filter((finding) => !isFresh.has(keyOf(finding))),
  };
}

function namelessServices({ name: domain, services }: DomainChange): readonly Finding[] {
  return services.added.flatMap(({ name }) => {
    const message = withoutDnsName(domain, name);
    return message === undefined ? [] : [{ path: ['services', name], message }];
  });
}

function missingServices({ roles, groups }: DomainContent, known: KnownServices): readonly Finding[] {
  const members = [
    ...roles.map((role) => ({ section: 'roles', ...role })),
    ...groups.map((group) => ({ section: 'groups', ...group })),
  ].flatMap((list) => list.members.map(({ name }) => ({ name, path: [list.section, list.name, 'members', name] })));
  return missingMembers(members, known);
}
