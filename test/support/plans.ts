import { parseDomainName } from '@signet/policy-engine/names';
import type { DocumentProblem } from '@signet/server/errors';
import type { AccessChange } from '@signet/server/impact/impact';
import type { ObjectChange } from '@signet/server/management/object-changes';
import type { Plan } from '@signet/server/management/plan-documents';
import { planTotals } from '@signet/server/management/plan-totals';

/** A plan with these changes of roles: a domain, a name, and what becomes of it. */
export function planOf(changes: readonly Partial<ObjectChange>[], { impact = [], ...more }: Partial<Plan> = {}): Plan {
  const all = changes.map(
    (change): ObjectChange => ({
      change: 'create',
      kind: 'role',
      domain: parseDomainName('films'),
      name: 'viewer',
      ...change,
    }),
  );
  return {
    digest: 'A'.repeat(43),
    change: [1, 1],
    changes: all,
    impact,
    totals: planTotals(all, impact),
    casesPassed: 3,
    warnings: [],
    refusals: [],
    ...more,
  };
}

/** Gain or loss of `read` on a resource. */
export function accessOf(change: 'gain' | 'loss', principal: string, domain: string, resource: string): AccessChange {
  return {
    change,
    principal,
    domain: parseDomainName(domain),
    action: { matching: ['read'], except: [] },
    resource: { matching: [resource], except: [] },
    example: { principal, action: 'read', resource: `${domain}:${resource}` },
  };
}

export function problemOf(line: number, message = 'is wrong'): DocumentProblem {
  return { file: 'films.yaml', line, column: 1, field: 'roles', message };
}
