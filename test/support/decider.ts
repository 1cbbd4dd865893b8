import { PolicyEngine } from '@signet/policy-engine';
import type { Decider } from '@signet/policy-engine/http';

/** Decides by roles that stand in place of a token, so that frameworks are tried without certificates. */
export function decider(): Decider {
  const engine = PolicyEngine.fromDomains({
    catalog: [{ name: 'movies', assertions: [{ effect: 'ALLOW', role: 'reader', action: 'read', resource: 'movie' }] }],
  });
  return {
    decide: async ({ token, action, resource }) =>
      engine.decideRoles({ domain: 'catalog', roles: [token], action, resource }),
  };
}
