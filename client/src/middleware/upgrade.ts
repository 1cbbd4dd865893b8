import { type NodeRequest, refuseUpgrade, type UpgradeSocket } from '@signet/policy-engine/http';
import { createGate, type RequireGrantOptions } from './require-grant.ts';

/**
 * Handler for the `upgrade` event of a server (WebSocket), whose requests pass no middleware. Resolves to `true` when the token server grants
 * it; otherwise it has answered the request, ended the connection, and resolves to `false`. A rule that throws is answered with 500. Throws
 * `PolicyEngineError('invalid-options')` when the served domains are not stated.
 */
export function requireGrantUpgrade(
  options: RequireGrantOptions,
): (request: NodeRequest, socket: UpgradeSocket) => Promise<boolean> {
  const gate = createGate(options);
  return async (request, socket) => {
    // The server no longer listens to this socket: without a listener an error during the query would end the process.
    socket.on('error', ignore);
    const refusal = await gate(request).then(
      (verdict) => verdict.refusal,
      () => failure,
    );
    if (refusal !== undefined) {
      refuseUpgrade(socket, refusal);
      return false;
    }
    socket.off('error', ignore);
    return true;
  };
}

function ignore(): void {}

const failure = { status: 500, body: { code: 500, message: 'internal error' } } as const;

export type { RequiredAccess, Rule, RuleInput } from '@signet/policy-engine/http';
export type { AccessChecker, RequireGrantOptions } from './require-grant.ts';
