import type { ProfileRules } from '../profile.ts';
import { isAccessCheck, isManagement } from './management/index.ts';

/**
 * Use of a principal token on a request (docs/reference/authentication.md#principal-tokens). `names-caller`: its principal is the caller;
 * `names-caller-recently`: only soon after its issue. `confirms`: the client certificate names the caller, and the token must name the same
 * principal.
 */
export type PrincipalTokenUse = 'names-caller' | 'names-caller-recently' | 'confirms';

/** Maximum age of a principal token that names the caller of a read in the management API, in seconds. */
export const recentSeconds = 300;

/** Tells what a principal token does on a request, by its method and path. */
export function principalTokenUses(
  { principalTokenOperations }: Pick<ProfileRules, 'principalTokenOperations'>,
  basePath: string,
): (method: string, path: string) => PrincipalTokenUse {
  const operations = principalTokenOperations.map((operation) => patternOf(operation, basePath));
  return (method, path) => {
    const verb = method === 'HEAD' ? 'GET' : method;
    if (isManagement(path)) {
      if (verb !== 'GET') return 'confirms';
      return isAccessCheck(path) ? 'names-caller' : 'names-caller-recently';
    }
    return operations.some((pattern) => pattern.test(`${verb} ${path}`)) ? 'names-caller' : 'confirms';
  };
}

/** An operation of a profile as a pattern of its method and path. */
function patternOf(operation: string, basePath: string): RegExp {
  const [verb = '', path = ''] = operation.split(' ');
  const text = `${verb} ${basePath}${path}`.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return new RegExp(`^${text.replaceAll(String.raw`\*\*`, '.+').replaceAll(String.raw`\*`, '[^/]+')}$`);
}
