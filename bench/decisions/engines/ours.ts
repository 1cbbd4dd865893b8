/** Signet's engine without a token. */
import { PolicyEngine } from '@signet/policy-engine';
import type { Prepare } from '../engine.ts';
import { domain } from '../workload.ts';

export const prepareOurs: Prepare = async (rules) => {
  const engine = PolicyEngine.fromDomains({ [domain]: [{ name: 'benchmark', assertions: [...rules] }] });
  return (roles, action, resource) => engine.decideRoles({ domain, roles, action, resource }).status === 'ALLOW';
};
