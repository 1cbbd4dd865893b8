import { ApiRefusedError } from './api.ts';
import type { Params } from './page.ts';

/** A parameter that a page needs. Throws `ApiRefusedError`. */
export function required(params: Params, name: string): string {
  const value = params.get(name);
  if (value === undefined || value === '') throw new ApiRefusedError(404, `\`${name}\` is missing`);
  return value;
}

/** A role, group or policy by its full name. */
interface ObjectName {
  readonly domain: string;
  readonly kind: 'role' | 'group' | 'policy';
  readonly name: string;
}

/** Parses `films:role.viewer`. Throws `ApiRefusedError`. */
export function objectName(text: string): ObjectName {
  const [, domain = '', kind, name = ''] = /^([^:]+):(role|group|policy)\.(.+)$/.exec(text) ?? [];
  if (kind === 'role' || kind === 'group' || kind === 'policy') return { domain, kind, name };
  throw new ApiRefusedError(404, `\`${text}\` is not the name of a role, group or policy`);
}
