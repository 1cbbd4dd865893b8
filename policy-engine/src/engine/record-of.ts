import type { Decision } from '../policy/index.ts';
import type { DecisionRecord } from '../records/decision-recorder.ts';

/** Holder of a request, as far as known. */
export interface Holder {
  readonly domain: string;
  readonly roles: readonly string[];
  readonly subject?: string;
  readonly tokenId?: string | undefined;
}

export function recordOf(
  decision: Decision,
  asked: { action: string; resource: string },
  holder: Holder | undefined,
  at: number,
): DecisionRecord {
  const { status, policy, assertion, revision } = decision;
  return {
    at,
    status,
    ...(holder !== undefined && { domain: holder.domain, roles: holder.roles }),
    action: asked.action,
    resource: asked.resource,
    ...(holder?.subject !== undefined && { subject: holder.subject }),
    ...(holder?.tokenId !== undefined && { tokenId: holder.tokenId }),
    ...(policy !== undefined && { policy }),
    ...(assertion !== undefined && { assertion }),
    ...(revision !== undefined && { revision }),
  };
}
