/**
 * Lane of a caller: its domain for a service, since a domain creates principals at will, and a lane of its own for a user. A name that is not a
 * principal has a lane too.
 */
export function laneOf(caller: string): string {
  const domain = caller.slice(0, Math.max(0, caller.lastIndexOf('.')));
  return domain === '' || domain === 'user' ? caller : domain;
}
