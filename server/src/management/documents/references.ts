import { type DomainName, type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import type { DocumentProblem } from '../../errors.ts';
import type { DomainContent, RoleRecord } from '../../store/records.ts';
import type { DomainDocument } from './parse-document.ts';
import type { YamlSource } from './yaml-source.ts';

/** What a member or role refers to in another place. */
export interface References {
  readonly problems: readonly DocumentProblem[];
  readonly warnings: readonly DocumentProblem[];
}

/** The domains that others refer to, their own not counted: trusted ones, those of groups, and those of services. */
export function referredDomains(contents: readonly DomainContent[]): ReadonlySet<DomainName> {
  return collectReferred(contents, () => true);
}

/** The same without those of services: what the decisions of these domains depend on. */
export function neededDomains(contents: readonly DomainContent[]): ReadonlySet<DomainName> {
  return collectReferred(contents, (member) => member.includes(':'));
}

function collectReferred(
  contents: readonly DomainContent[],
  counts: (member: string) => boolean,
): ReadonlySet<DomainName> {
  const referred = new Set<DomainName>();
  for (const role of contents.flatMap((content) => content.roles)) {
    if (role.trust !== undefined) referred.add(role.trust);
    for (const { name } of role.members) {
      const domain = counts(name) ? memberDomain(name) : undefined;
      if (domain !== undefined) referred.add(domain);
    }
  }
  for (const content of contents) referred.delete(content.name);
  return referred;
}

/** The domain of a group or service; of a pattern or a user none. */
function memberDomain(name: string): DomainName | undefined {
  if (name.endsWith('*')) return undefined;
  const colon = name.indexOf(':');
  if (colon >= 0) return name.slice(0, colon) as DomainName;
  const domain = splitPrincipal(name as PrincipalName)?.domain;
  return domain === 'user' ? undefined : domain;
}

/**
 * Looks up every group, trusted domain and service that the documents name. `known` has the documents' own domains and those of the
 * store. A missing group or trusted domain is a problem, a service that its existing domain does not have a warning: it may come later.
 */
export function checkReferences(
  documents: readonly DomainDocument[],
  known: ReadonlyMap<DomainName, DomainContent>,
): References {
  const problems: DocumentProblem[] = [];
  const warnings: DocumentProblem[] = [];
  for (const { source, content } of documents) {
    for (const role of content.roles) {
      if (role.trust !== undefined && !known.has(role.trust)) {
        problems.push(source.problem(['roles', role.name, 'trust'], `domain \`${role.trust}\` does not exist`));
      }
      for (const finding of memberFindings(source, role, known)) {
        (finding.kind === 'problem' ? problems : warnings).push(finding.problem);
      }
    }
  }
  return { problems, warnings };
}

function memberFindings(source: YamlSource, role: RoleRecord, known: ReadonlyMap<DomainName, DomainContent>) {
  return role.members.flatMap(({ name }) => {
    const finding = checkMember(name, known);
    if (finding === undefined) return [];
    const path = memberPath(source.value, role.name, name);
    return [{ kind: finding.kind, problem: source.problem(path, finding.message) }];
  });
}

interface Finding {
  readonly kind: 'problem' | 'warning';
  readonly message: string;
}

function checkMember(name: string, known: ReadonlyMap<DomainName, DomainContent>): Finding | undefined {
  const domainName = memberDomain(name);
  if (domainName === undefined) return undefined;
  const domain = known.get(domainName);
  if (name.includes(':')) {
    const exists = domain?.groups.some((group) => `${domainName}:group.${group.name}` === name);
    return exists === true ? undefined : { kind: 'problem', message: `group \`${name}\` does not exist` };
  }
  if (domain === undefined || domain.services.some((service) => `${domainName}.${service.name}` === name))
    return undefined;
  return { kind: 'warning', message: `domain \`${domainName}\` has no service \`${name}\`` };
}

/** Where the member stands in the file: records are sorted, documents are not, and names may be written in capitals. */
function memberPath(value: unknown, roleName: string, member: string): PropertyKey[] {
  const [role, content] = entry(entry(value, 'roles')[1], roleName);
  const [key, members] = entry(content, 'members');
  if (role === undefined || key === undefined || !Array.isArray(members)) return ['roles', roleName];
  const index = members.findIndex((item: unknown) => nameOf(item)?.toLowerCase() === member);
  return ['roles', role, 'members', Math.max(index, 0)];
}

function entry(value: unknown, name: string): readonly [string | undefined, unknown] {
  if (typeof value !== 'object' || value === null) return [undefined, undefined];
  return Object.entries(value).find(([key]) => key.toLowerCase() === name) ?? [undefined, undefined];
}

function nameOf(item: unknown): string | undefined {
  if (typeof item === 'string') return item;
  const [, name] = entry(item, 'name');
  return typeof name === 'string' ? name : undefined;
}
