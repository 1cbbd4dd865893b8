import { ConflictError } from '../errors.ts';
import type { DomainChange, ListDiff, MemberListChange } from '../model/domain-change.ts';
import {
  type AssertionCount,
  type DomainAttributes,
  type DomainFields,
  type QuotaKind,
  type Quotas,
  quotaKinds,
} from '../model/records.ts';
import type { ChangeFault, ChangeRule } from './change-rule.ts';

/** Document sections of the parts that a quota counts. */
const sections = {
  roles: 'roles',
  members: 'roles',
  groups: 'groups',
  policies: 'policies',
  assertions: 'policies',
  services: 'services',
  keys: 'services',
} as const satisfies Record<QuotaKind, string>;

/** Throws `ConflictError` for more assertions than a quota allows, before they are read. */
export function checkAssertionCount(
  domain: DomainAttributes,
  counts: readonly AssertionCount[],
  after: number,
  quotas: Quotas,
): void {
  const most = quotasInForce(domain, quotas).assertions;
  if (after > most && after > assertionsIn(counts)) throw quotaError(domain, 'assertions', most);
}

export function assertionsIn(counts: readonly AssertionCount[]): number {
  return counts.reduce((sum, { assertions }) => sum + assertions, 0);
}

/** Excess over a quota may stay, and shrink. */
export const quotasOfDomain: ChangeRule = async (change, { reader, quotas }) => {
  const most: Partial<Quotas> = { ...quotas, ...change.after.quotas };
  const more = growthOf(change);
  const growing = quotaKinds.filter((kind) => more[kind] > 0 && most[kind] !== undefined);
  const counts = change.before === undefined ? undefined : await reader.counts(change.name, growing);
  return growing.flatMap((kind): ChangeFault[] => {
    const inForce = most[kind] ?? Number.POSITIVE_INFINITY;
    if ((counts?.[kind] ?? 0) + more[kind] <= inForce) return [];
    return [{ error: quotaError(change, kind, inForce), path: [sections[kind]] }];
  });
};

function quotaError({ name }: Pick<DomainFields, 'name'>, kind: QuotaKind, most: number): ConflictError {
  return new ConflictError(`domain \`${name}\` may have at most ${most} ${kind}`);
}

/** The domain's own where it has some, else those of the server. */
export function quotasInForce(domain: Pick<DomainFields, 'quotas'>, quotas: Quotas): Quotas {
  return { ...quotas, ...domain.quotas };
}

/** How many more of each the domain has after a change. */
function growthOf({ roles, groups, policies, services }: DomainChange): Readonly<Record<QuotaKind, number>> {
  const lists = (changes: readonly MemberListChange[]) =>
    sum(changes, ({ before, after }) => Number(after !== undefined) - Number(before !== undefined));
  return {
    roles: lists(roles),
    members: sum([...roles, ...groups], ({ members }) => growth(members, () => 1)),
    groups: lists(groups),
    policies: growth(policies, () => 1),
    assertions: growth(policies, ({ assertions }) => assertions.length),
    services: growth(services, () => 1),
    keys: growth(services, ({ publicKeys }) => publicKeys.length),
  };
}

function growth<Item>({ removed, added, changed }: ListDiff<Item>, count: (item: Item) => number): number {
  return sum(added, count) - sum(removed, count) + sum(changed, ({ before, after }) => count(after) - count(before));
}

function sum<Item>(items: readonly Item[], count: (item: Item) => number): number {
  return items.reduce((total, item) => total + count(item), 0);
}
