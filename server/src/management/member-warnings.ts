import { didYouMean } from '@signet/policy-engine/internal/nearest';
import { type DomainName, type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import type { DomainChange } from '../model/domain-change.ts';
import type { StoreReader } from '../model/store.ts';
import { maxProblems } from './documents/places.ts';
import { freshlyExpired } from './expired-members.ts';

/** The service that a member names; undefined for groups, patterns and users. */
export function serviceOf(member: string): ReturnType<typeof splitPrincipal> {
  if (member.endsWith('*') || member.includes(':')) return undefined;
  const parts = splitPrincipal(member as PrincipalName);
  return parts?.domain === 'user' ? undefined : parts;
}

/** The services that there are. */
export interface KnownServices {
  readonly services: ReadonlyMap<DomainName, ReadonlySet<string>>;
  /** True if a domain that is not among them does not exist. Otherwise it is reported only where a similar name suggests a mistake. */
  readonly isWhole: boolean;
}

interface NamedMember {
  readonly name: string;
  readonly path: readonly string[];
}

interface Missing {
  readonly message: string;
  readonly path: readonly string[];
}

/**
 * Warnings about members that are services which do not exist: they may be created later. Once for each domain that does not exist, at its first
 * member, and of at most `maxProblems` such domains. `hints`: maximum number of suggestions.
 */
export function missingMembers(
  members: readonly NamedMember[],
  known: KnownServices,
  hints = maxProblems,
): readonly Missing[] {
  const found: Missing[] = [];
  const domains = new Set<string>();
  for (const { name, path } of members) {
    const parts = serviceOf(name);
    if (parts === undefined || domains.has(parts.domain)) continue;
    const isUnknown = !known.services.has(parts.domain);
    if (isUnknown && domains.size >= maxProblems) continue;
    const message = missingService(name, known, found.length < hints);
    if (message === undefined) continue;
    if (isUnknown) domains.add(parts.domain);
    found.push({ message, path });
  }
  return found;
}

/** Warning about a service that does not exist, with the probable one if `hints`; undefined for other principals. */
export function missingService(
  principal: string,
  { services, isWhole }: KnownServices,
  hints: boolean,
): string | undefined {
  const parts = serviceOf(principal);
  if (parts === undefined) return undefined;
  const { domain, service } = parts;
  const known = services.get(domain);
  if (known === undefined) {
    const hint = hints ? didYouMean(domain, services.keys()) : '';
    return isWhole || hint !== '' ? `domain \`${domain}\` does not exist${hint}` : undefined;
  }
  if (known.has(service)) return undefined;
  const hint = hints ? didYouMean(service, known).replace('`', `\`${domain}.`) : '';
  return `domain \`${domain}\` has no service \`${principal}\`${hint}`;
}

/** Warnings for the author of a change: new members that do not exist yet, or that have expired. */
export async function memberWarnings(
  change: DomainChange,
  reader: Pick<StoreReader, 'serviceNames'>,
  now: number,
): Promise<string[]> {
  const expired = freshlyExpired(change, now).map(({ message }) => message);
  const members = [...change.roles, ...change.groups].flatMap(({ members: { added } }) =>
    added.map(({ name }) => ({ name, path: [] })),
  );
  const domains = new Set(members.flatMap(({ name }) => serviceOf(name)?.domain ?? []));
  if (domains.size === 0) return expired;
  const services = await reader.serviceNames([...domains]);
  // Without hints: the author may lack the right to look at those domains.
  const missing = missingMembers(members, { services, isWhole: true }, 0);
  return [...missing.map(({ message }) => message), ...expired];
}
