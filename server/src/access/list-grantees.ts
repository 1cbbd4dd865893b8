import type { PrincipalName, RoleName } from '@signet/policy-engine/names';
import { type PrincipalClass, principalClasses } from '../impact/principal-classes.ts';
import { type ExplainedRole, explainHeldRoles } from '../roles/explain-roles.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { type AccessQuery, checkAccess, resourceDomain } from './check-access.ts';
import { decideCounted } from './decide-counted.ts';

/** Principal with access: one by name, the unknown members of a group or role (`via …`), or all others that a wildcard member covers. */
interface Grantee {
  readonly principal: string;
  /** The roles that allow it, with the ways into them. */
  readonly through: readonly ExplainedRole[];
}

type GranteesQuestion = Omit<AccessQuery, 'principal' | 'trustDomain'>;

interface ListingGrantees {
  readonly snapshot: Snapshot;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Label of a principal that stands for the members of a list whom the caller may not know. */
  readonly labelOf: (principal: string) => string | undefined;
  /** Called with the number of principals that were collected or decided. */
  readonly looked: (rows: number) => void;
  /** Called with the cost of decisions, in units of `maxWork` of the engine. */
  readonly compared: (work: number) => void;
}

/** Every grantee at once, of a snapshot of part of a store or of documents. Throws as `explainAccess` does. Pure. */
export function listGrantees(snapshot: Snapshot, question: GranteesQuestion, now: number): Grantee[] {
  const nothing = () => undefined;
  const listing = { snapshot, now, labelOf: nothing, looked: nothing, compared: nothing };
  return runAtOnce(granteesInSteps(listing, question, { after: '', limit: Number.POSITIVE_INFINITY }));
}

/** Place of a grantee in the list of all: names before lists of unknown members, these before wildcards. */
export function keyOfGrantee({ principal }: Pick<Grantee, 'principal'>): string {
  const place = principal.endsWith('*') ? 2 : principal.startsWith('via ') ? 1 : 0;
  return `${place}${principal}`;
}

/** At most `limit` grantees of those whose keys come after `after`, sorted. Throws as `explainAccess` does. */
export function* granteesInSteps(
  listing: ListingGrantees,
  question: GranteesQuestion,
  { after, limit }: { readonly after: string; readonly limit: number },
): Steps<Grantee[]> {
  const { snapshot, looked } = listing;
  const domain = existingDomain(snapshot, resourceDomain(question.resource));
  const classes = yield* principalClasses([{ snapshot, domain }]);
  looked(classes.length);
  // In the order of keys, as classes are: only stand-ins are out of place.
  const named: Waiting[] = [];
  const standIns: Waiting[] = [];
  const wildcards: Waiting[] = [];
  for (const { label: name, example } of classes) {
    yield;
    const label = listing.labelOf(name);
    const one = { principal: label ?? name, example, isStandIn: label !== undefined };
    if (keyOfGrantee(one) <= after) continue;
    if (one.isStandIn) standIns.push(one);
    else if (name.endsWith('*')) wildcards.push(one);
    else named.push(one);
  }
  standIns.sort((a, b) => (a.principal < b.principal ? -1 : 1));
  const decide = decisions(listing, question, domain);
  const grantees: Grantee[] = [];
  for (const one of [named, standIns, wildcards].flat()) {
    yield;
    if (grantees.length >= limit) break;
    looked(1);
    const through = yield* decide(one);
    if (through !== undefined) grantees.push({ principal: one.principal, through });
  }
  return grantees;
}

interface Waiting extends Pick<PrincipalClass, 'example'> {
  readonly principal: string;
  readonly isStandIn: boolean;
}

/** Roles that give the access to a principal; undefined if it has none. */
function decisions({ snapshot, now, compared }: ListingGrantees, question: GranteesQuestion, domain: DomainSnapshot) {
  // Examples of wildcards and stand-ins are no registered services; they stand for some that are.
  const withExamples = { ...snapshot, isPart: true };
  const known = new Map<RoleName, boolean>();
  const allows = (role: RoleName) => {
    let isAllowed = known.get(role);
    if (isAllowed === undefined) {
      const { decision, work } = decideCounted(domain.policy, [role], question);
      compared(work);
      isAllowed = decision.status === 'ALLOW';
      known.set(role, isAllowed);
    }
    return isAllowed;
  };
  return function* throughOf({ principal, example, isStandIn }: Waiting): Steps<ExplainedRole[] | undefined> {
    const seen = isStandIn || principal.endsWith('*') ? withExamples : snapshot;
    const asked: PrincipalName = example;
    const { granted, work } = checkAccess(seen, { ...question, principal: asked }, now);
    compared(work);
    if (!granted) return undefined;
    const held = yield* explainHeldRoles(seen, domain, asked, { now, compared });
    return held.filter(({ role }) => allows(role));
  };
}
