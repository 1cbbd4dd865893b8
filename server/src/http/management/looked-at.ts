import { costs } from '../../budgets/costs.ts';
import type { Viewer } from '../../impact/fold.ts';
import { rightsOf } from '../../management/rights.ts';
import type { AuditRecord } from '../../model/records.ts';
import { comparedFor } from '../compared-for.ts';
import { type RouteContext, requireIdentity } from '../context.ts';
import type { ManagementRouteDeps } from './management-deps.ts';

/** Charges the caller for the rows that a request reads, however few are answered. */
export function lookedAt(ctx: RouteContext, what: 'row' | 'viewDecision', count = 1): void {
  ctx.state.work += count * costs[what];
}

/** Viewer for the caller's rights to look at objects, by the snapshot; the caller is charged for each decision. */
export function viewerFor(
  { snapshot, clock }: Pick<ManagementRouteDeps, 'snapshot' | 'clock'>,
  ctx: RouteContext,
): Viewer {
  const { seesAll, sees } = rightsOf(snapshot(), requireIdentity(ctx).name, clock.now(), comparedFor(ctx));
  return {
    seesAll,
    sees: (domain, object) => {
      lookedAt(ctx, 'viewDecision');
      return sees(domain, object);
    },
  };
}

/** A caller's question about one snapshot: each domain and object is decided once, and the caller pays. */
export function askedBy({ snapshot: read, clock }: Pick<ManagementRouteDeps, 'snapshot' | 'clock'>, ctx: RouteContext) {
  const [snapshot, now] = [read(), clock.now()];
  const { sees, seesAll } = viewerFor({ snapshot: () => snapshot, clock: { now: () => now } }, ctx);
  const known = new Map<string, boolean>();
  const viewer: Viewer = {
    seesAll,
    sees: (domain, object) => {
      const key = `${domain}:${object}`;
      const isSeen = known.get(key) ?? sees(domain, object);
      known.set(key, isSeen);
      return isSeen;
    },
  };
  const looked = (rows: number) => lookedAt(ctx, 'row', rows);
  return { snapshot, now, viewer, caller: requireIdentity(ctx).name, looked, compared: comparedFor(ctx) };
}

/** The same records, and the caller pays for what of each is shown. */
export function paidByCaller(
  ctx: RouteContext,
  show: (record: AuditRecord) => Record<string, unknown>,
): (record: AuditRecord) => Record<string, unknown> {
  return (record) => {
    ctx.state.work += ((record.before?.length ?? 0) + (record.after?.length ?? 0)) * costs.answerByte;
    return show(record);
  };
}
