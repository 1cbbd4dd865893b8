import { type DomainName, type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import type { DomainChange } from '../model/domain-change.ts';
import type { StoreReader } from '../model/store.ts';
import { newMembers } from './new-references.ts';

/** The service that a member names; undefined for groups, patterns and users. */
export function serviceOf(member: string): ReturnType<typeof splitPrincipal> {
  if (member.endsWith('*') || member.includes(':')) return undefined;
  const parts = splitPrincipal(member as PrincipalName);
  return parts?.domain === 'user' ? undefined : parts;
}

/** What to say of a member that is a service which its existing domain does not have: it may come later. */
export function missingService(
  member: string,
  services: ReadonlyMap<DomainName, ReadonlySet<string>>,
): string | undefined {
  const parts = serviceOf(member);
  const known = parts === undefined ? undefined : services.get(parts.domain);
  if (parts === undefined || known === undefined || known.has(parts.service)) return undefined;
  return `domain \`${parts.domain}\` has no service \`${member}\``;
}

/** What the author of a change should look at although it is made: new members that nobody is yet. */
export async function memberWarnings(
  change: DomainChange,
  reader: Pick<StoreReader, 'serviceNames'>,
): Promise<string[]> {
  const names = newMembers(change).map(({ member }) => member.name);
  const domains = new Set(names.flatMap((name) => serviceOf(name)?.domain ?? []));
  if (domains.size === 0) return [];
  const services = await reader.serviceNames([...domains]);
  return names.flatMap((name) => missingService(name, services) ?? []);
}
