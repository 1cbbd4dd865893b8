import { costs } from '../../budgets/costs.ts';
import type { AuditRecord } from '../../model/records.ts';
import type { RouteContext } from '../context.ts';

/** Has the caller pay for what a request looks at, however little of it is answered. */
export function lookedAt(ctx: RouteContext, what: 'row' | 'viewDecision', count = 1): void {
  ctx.state.work += count * costs[what];
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
