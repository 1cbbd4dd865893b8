import { ConflictError } from '../errors.ts';
import {
  type AssertionCount,
  type DomainAttributes,
  type DomainContent,
  type QuotaKind,
  quotaKinds,
} from '../model/records.ts';

/** At most how many of each a domain may have, unless it has quotas of its own. */
export type Quotas = Readonly<Record<QuotaKind, number>>;

/** A quota that a change goes past. */
interface QuotaFault {
  readonly kind: QuotaKind;
  readonly error: ConflictError;
}

/**
 * Throws `ConflictError` when a change goes past a quota. What is above one already may stay, and shrink. `otherMembers` are those that
 * neither side shows.
 */
export function checkQuotas(
  before: DomainContent | undefined,
  after: DomainContent,
  quotas: Quotas,
  otherMembers = 0,
): void {
  const [fault] = findQuotaFaults(before, after, quotas, otherMembers);
  if (fault !== undefined) throw fault.error;
}

/** The same for a number of assertions, before they are read. */
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

/** Every quota that a change goes past. Pure. */
export function findQuotaFaults(
  before: DomainContent | undefined,
  after: DomainContent,
  quotas: Quotas,
  otherMembers = 0,
): QuotaFault[] {
  const was = before === undefined ? undefined : countsOf(before, otherMembers);
  const is = countsOf(after, otherMembers);
  const inForce = quotasInForce(after, quotas);
  return quotaKinds
    .filter((kind) => is[kind] > inForce[kind] && is[kind] > (was?.[kind] ?? 0))
    .map((kind) => ({ kind, error: quotaError(after, kind, inForce[kind]) }));
}

function quotaError({ name }: Pick<DomainContent, 'name'>, kind: QuotaKind, most: number): ConflictError {
  return new ConflictError(`domain \`${name}\` may have at most ${most} ${kind}`);
}

/** The domain's own where it has some, else those of the server. */
export function quotasInForce(content: Pick<DomainContent, 'quotas'>, quotas: Quotas): Quotas {
  return { ...quotas, ...content.quotas };
}

function countsOf(
  { roles, groups, policies, services }: DomainContent,
  otherMembers: number,
): Readonly<Record<QuotaKind, number>> {
  const sum = (lists: readonly { readonly length: number }[]) => lists.reduce((total, { length }) => total + length, 0);
  return {
    roles: roles.length,
    members: otherMembers + sum([...roles, ...groups].map(({ members }) => members)),
    groups: groups.length,
    policies: policies.length,
    assertions: sum(policies.map(({ assertions }) => assertions)),
    services: services.length,
    keys: sum(services.map(({ publicKeys }) => publicKeys)),
  };
}
