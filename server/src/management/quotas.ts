import { ConflictError } from '../errors.ts';
import type { DomainContent } from '../store/records.ts';

/** At most how many of each a domain may have through the management API. */
export interface Quotas {
  readonly roles: number;
  readonly members: number;
  readonly groups: number;
  readonly policies: number;
  readonly assertions: number;
  readonly services: number;
  readonly keys: number;
}

/** Throws `ConflictError` when a change goes past a quota. What is above one already may stay, and shrink. */
export function checkQuotas(before: DomainContent | undefined, after: DomainContent, quotas: Quotas): void {
  const was = before === undefined ? undefined : countsOf(before);
  for (const [kind, count] of Object.entries(countsOf(after))) {
    const most = quotas[kind as keyof Quotas];
    if (count > most && count > (was?.[kind as keyof Quotas] ?? 0)) {
      throw new ConflictError(`domain \`${after.name}\` may have at most ${most} ${kind}`);
    }
  }
}

function countsOf({ roles, groups, policies, services }: DomainContent): Record<keyof Quotas, number> {
  const sum = (lists: readonly { readonly length: number }[]) => lists.reduce((total, { length }) => total + length, 0);
  return {
    roles: roles.length,
    members: sum([...roles, ...groups].map(({ members }) => members)),
    groups: groups.length,
    policies: policies.length,
    assertions: sum(policies.map(({ assertions }) => assertions)),
    services: services.length,
    keys: sum(services.map(({ publicKeys }) => publicKeys)),
  };
}
