import { nodeRequests } from './node-request.ts';
import { checkProtectOptions, type ProtectOptions } from './protect-options.ts';

/** Options that all routes of a service share: all but `rule`. */
export interface SharedOptions extends Omit<ProtectOptions, 'rule'> {
  rule?: undefined;
}

/** Makes the middleware of each route: `protect.for('read', 'catalog:movie')`. */
export interface RouteProtection<Middleware> {
  /** Throws `PolicyEngineError('invalid-options')` for what cannot be asked for. */
  for(action: string, resource: string): Middleware;
}

/** Checks the options at once, and each route when it is made. The certificate of a connection is found once for all routes. */
export function perRoute<Middleware>(
  options: SharedOptions,
  make: (options: ProtectOptions, read: ReturnType<typeof nodeRequests>) => Middleware,
): RouteProtection<Middleware> {
  checkProtectOptions({ ...options, rule: anyRule });
  const read = nodeRequests(options);
  return { for: (action, resource) => make({ ...options, rule: { action, resource } }, read) };
}

/** Placeholder for the rules of the routes. */
const anyRule = () => undefined;
