import type { Server } from 'node:https';
import type { Clock } from '@signet/policy-engine/clock';
import { type Budgets, createBudgets } from '../budgets/budgets.ts';
import { addressList } from '../budgets/client-addresses.ts';
import { costs } from '../budgets/costs.ts';
import { countRefusals } from '../budgets/refusals.ts';
import type { Addresses, ServerConfig } from '../config/config.ts';
import type { Logger } from '../logger.ts';
import { type BudgetRules, budgetRules } from './budget.ts';
import { type Connections, watchConnections } from './connections.ts';
import { isAccessCheck, isManagement } from './management/index.ts';
import { carriesRequests } from './routes/identity/index.ts';
import { loginPath } from './routes/identity/login.ts';
import { probePaths } from './routes/probe-paths.ts';

/** Monotonic clock: milliseconds since the process began. */
const monotonicClock: Clock = { now: () => performance.now() };

export interface OpenBudgets {
  readonly connections: Connections;
  rulesFor(addresses: Addresses): BudgetRules | undefined;
  /** Logs the refusals since the last minute. */
  close(): void;
}

/** Watches the connections of a server, and keeps the budgets of its configuration. */
export function openBudgets(
  server: Server,
  { listen, budgets: options, timeouts }: Pick<ServerConfig, 'listen' | 'budgets' | 'timeouts'>,
  logger: Logger,
  monotonic: Clock = monotonicClock,
): OpenBudgets {
  const refusals = countRefusals(logger);
  const { principal, strangers } = options;
  const isShared = addressList(options.sharedAddresses);
  const budgets: Budgets | undefined = options.enabled
    ? createBudgets({ principal, strangers, isShared, monotonic })
    : undefined;
  const isBalancer = addressList(listen.proxyProtocolFrom);
  const connections = watchConnections(server, { isBalancer, waitMs: timeouts.requestMs, budgets, refusals });
  return {
    connections,
    rulesFor: (addresses) => {
      if (budgets === undefined) return undefined;
      const probes = probePaths(addresses);
      return budgetRules({
        budgets,
        connections,
        refusals,
        isProbe: (path) => probes.has(path),
        workOf: workOf(addresses),
        refusalDelayMs: options.refusalDelayMs,
      });
    },
    close: refusals.close,
  };
}

/** Cost of a request beside being read and answered, by its path; microseconds. */
function workOf({ basePath }: Pick<Addresses, 'basePath'>): (method: string, path: string) => number {
  const takesRequest = carriesRequests(basePath);
  const fixed = new Map<string, number>([
    [`${basePath}/oauth2/token`, costs.signature],
    [loginPath(basePath), costs.certificate + costs.verification],
  ]);
  return (method, path) => {
    const cost = fixed.get(path);
    if (cost !== undefined) return cost;
    if (isManagement(path)) {
      if (isAccessCheck(path)) return 0;
      return method === 'GET' || method === 'HEAD' ? costs.read : costs.change;
    }
    if (!takesRequest(path)) return 0;
    return method === 'POST' ? costs.certificate : costs.change;
  };
}
