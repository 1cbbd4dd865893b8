import type { DomainName } from '@signet/policy-engine/names';
import type { DocumentProblem } from '../../errors.ts';
import type { DomainChange } from '../../model/domain-change.ts';
import type { DomainContent } from '../../model/records.ts';
import { diffDomains } from '../../store/diff-domains.ts';
import { withoutDnsName } from '../dns-warnings.ts';
import type { DocumentChange } from '../document-refusals.ts';
import { missingService, serviceOf } from '../member-warnings.ts';
import { faultOf, type GroupNames, groupNames, newReferences } from '../new-references.ts';
import { byPlace, placeOf } from './places.ts';

/** What the documents name in another place and what is not there. */
interface ReferenceReport {
  readonly problems: readonly DocumentProblem[];
  readonly warnings: readonly DocumentProblem[];
}

/** Where the documents may refer to. */
interface ReferenceWorld {
  /** What there is with the documents. */
  readonly after: ReadonlyMap<DomainName, DomainContent>;
  /** The services of every domain that has one as a member of the documents' roles. */
  readonly services: ReadonlyMap<DomainName, ReadonlySet<string>>;
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

/** The domains of services that are members of roles. */
export function memberDomains(contents: readonly DomainContent[]): ReadonlySet<DomainName> {
  const members = contents.flatMap(({ roles }) => roles.flatMap((role) => role.members));
  return new Set(members.flatMap(({ name }) => serviceOf(name)?.domain ?? []));
}

function groupDomain(member: string): DomainName | undefined {
  const colon = member.indexOf(':');
  // Parsed with the member.
  return colon < 0 ? undefined : (member.slice(0, colon) as DomainName);
}

/**
 * Looks up every group, trusted domain and service that the documents name. A missing group or trusted domain is a problem where the
 * reference is new, else a warning; a service that its existing domain does not have is one too: it may come later.
 */
export function checkReferences(changes: readonly DocumentChange[], world: ReferenceWorld): ReferenceReport {
  const services = new Map(world.services);
  for (const { after } of changes) services.set(after.name, new Set(after.services.map(({ name }) => name)));
  const problems: DocumentProblem[] = [];
  const warnings: DocumentProblem[] = [];
  for (const { document, after: content, change } of changes) {
    const { source } = document;
    const at = ({ path, message }: Finding) => source.problem(placeOf(source.value, path), message);
    const { fresh, old } = brokenReferences(content, change, world);
    problems.push(...fresh.map(at).sort(byPlace));
    const nameless = namelessServices(change);
    warnings.push(...[...old, ...missingServices(content, services), ...nameless].map(at).sort(byPlace));
  }
  return { problems, warnings };
}

interface Finding {
  readonly path: readonly string[];
  readonly message: string;
}

function brokenReferences(content: DomainContent, change: DomainChange, { after }: ReferenceWorld) {
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
  const broken = newReferences(diffDomains(undefined, content)).flatMap((reference): Finding[] => {
    const fault = faultOf(reference, groupsOf(reference.domain));
    return fault === undefined ? [] : [{ path: fault.path, message: fault.error.message }];
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

function missingServices(
  { roles }: DomainContent,
  services: ReadonlyMap<DomainName, ReadonlySet<string>>,
): readonly Finding[] {
  return roles.flatMap(({ name: role, members }) =>
    members.flatMap(({ name }): Finding[] => {
      const message = missingService(name, services);
      if (message === undefined) return [];
      return [{ path: ['roles', role, 'members', name], message }];
    }),
  );
}
