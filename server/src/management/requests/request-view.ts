import { formatTimestamp } from '@signet/policy-engine/clock';
import { fullRoleName } from '@signet/policy-engine/names';
import type { RequestContent } from '../../model/change-requests.ts';
import { type ObjectOperation, type ObjectOperationId, objectOperations } from '../edits/object-operations.ts';
import { isExpired, type SeenRequest } from './decide.ts';

interface Showing {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** True to show the texts of files. */
  readonly files?: boolean;
  /** True in a list of many: without bodies of operations and outcomes. */
  readonly isBrief?: boolean;
}

/** A request as the API shows it. */
export function requestView(
  { request, plan, problem, effect }: SeenRequest,
  showing: Showing,
): Record<string, unknown> {
  const { id, author, created, expires, closed, reason, domains, needed, content, outcome } = request;
  const whole = outcome === undefined || showing.isBrief === true ? undefined : (JSON.parse(outcome) as unknown);
  return {
    id,
    kind: content.kind,
    state: isExpired(request, showing.now) ? 'expired' : request.state,
    author,
    created: formatTimestamp(created),
    expires: formatTimestamp(expires),
    ...(closed !== undefined && { closed: formatTimestamp(closed) }),
    ...(reason !== undefined && { reason }),
    domains,
    needed,
    approvals: request.approvals.map(({ by, at, comment, effect: approved }) => ({
      by,
      at: formatTimestamp(at),
      ...(comment !== undefined && { comment }),
      current: effect === undefined || approved === effect,
    })),
    ...contentView(content, showing),
    ...(plan !== undefined && { plan }),
    ...(whole !== undefined && { outcome: whole }),
    ...(problem !== undefined && { problem }),
    ...(effect !== undefined && { seenByAuthor: effect === request.effect }),
  };
}

function contentView(
  content: RequestContent,
  { files: withText = false, isBrief = false }: Showing,
): Record<string, unknown> {
  if (content.kind === 'role') return { role: fullRoleName(content.domain, content.role), seconds: content.seconds };
  if (content.kind === 'documents') {
    return { files: content.files.map(({ name, text }) => ({ name, ...(withText && { text }) })) };
  }
  const { method, path }: ObjectOperation = objectOperations[content.operation as ObjectOperationId];
  const { domainName = '', ...params } = content.params;
  const below = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return {
    operation: {
      method: method.toUpperCase(),
      path: `/management/v1/domains/${domainName}${below}`,
      ...(content.flags.length > 0 && { query: Object.fromEntries(content.flags.map((flag) => [flag, 'true'])) }),
      ...(content.body !== undefined && !isBrief && { body: content.body }),
    },
  };
}
