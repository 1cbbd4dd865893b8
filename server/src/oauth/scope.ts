import {
  type DomainName,
  InvalidNameError,
  parseDomainName,
  parseRoleName,
  parseServiceName,
  type RoleName,
  type ServiceName,
} from '@signet/policy-engine/names';
import { InvalidScopeError } from '../errors.ts';

/** Requested scope: all roles held in a domain, or the named ones; and an ID token for a service of that domain. */
export type RequestedScope = {
  readonly domain: DomainName;
  readonly idTokenService?: ServiceName;
} & ({ readonly kind: 'all-roles' } | { readonly kind: 'roles'; readonly roles: ReadonlySet<RoleName> });

type ScopeItem =
  | { readonly kind: 'openid' }
  | { readonly kind: 'domain'; readonly domain: DomainName }
  | { readonly kind: 'role'; readonly domain: DomainName; readonly role: RoleName }
  | { readonly kind: 'service'; readonly domain: DomainName; readonly service: ServiceName };

/** Maximum of items in a scope: more than any sensible list of roles, less than a body may hold. */
export const maxScopeItems = 256;

/**
 * Reads a scope (docs/reference/tokens.md#scopes):
 *   scope = item *( SP item );  item = "openid" | domain ":domain" | domain ":role." role | domain ":service." service
 * Throws `InvalidScopeError` for two domains, for `openid` without a service or the reverse, for two services, for a scope
 * without roles to give, and for anything outside the grammar.
 */
export function parseScope(text: string): RequestedScope {
  const words = text.split(' ').filter((word) => word !== '');
  if (words.length === 0) throw new InvalidScopeError('scope is empty');
  if (words.length > maxScopeItems) throw new InvalidScopeError(`scope has more than ${maxScopeItems} items`);
  const items = words.map(parseItem);
  const domain = onlyDomain(items);
  const service = onlyService(items);
  checkIdToken(items.some(isOpenid), service);
  const asked = service === undefined ? { domain } : { domain, idTokenService: service };
  if (items.some(isAllRoles)) return { ...asked, kind: 'all-roles' };
  const roles = new Set<RoleName>();
  for (const item of items) if (item.kind === 'role') roles.add(item.role);
  if (roles.size > 0) return { ...asked, kind: 'roles', roles };
  throw new InvalidScopeError('scope asks for no role: an ID token is given only beside an access token');
}

const isOpenid = (item: ScopeItem) => item.kind === 'openid';
const isAllRoles = (item: ScopeItem) => item.kind === 'domain';

function onlyDomain(items: readonly ScopeItem[]): DomainName {
  let domain: DomainName | undefined;
  for (const item of items) {
    if (item.kind === 'openid') continue;
    if (domain !== undefined && item.domain !== domain) {
      throw new InvalidScopeError('scope names more than one domain');
    }
    domain = item.domain;
  }
  if (domain === undefined) throw new InvalidScopeError('scope names no domain');
  return domain;
}

function onlyService(items: readonly ScopeItem[]): ServiceName | undefined {
  let service: ServiceName | undefined;
  for (const item of items) {
    if (item.kind !== 'service') continue;
    if (service !== undefined && item.service !== service) {
      throw new InvalidScopeError('scope names more than one service');
    }
    service = item.service;
  }
  return service;
}

/** `openid` and a service come together or not at all (docs/reference/tokens.md#scopes). */
function checkIdToken(openid: boolean, service: ServiceName | undefined): void {
  if (openid && service === undefined) {
    throw new InvalidScopeError('`openid` needs a scope `<domain>:service.<service>`');
  }
  if (!openid && service !== undefined) throw new InvalidScopeError('a service scope needs `openid`');
}

function parseItem(word: string): ScopeItem {
  if (word === 'openid') return { kind: 'openid' };
  const colon = word.indexOf(':');
  const [prefix, rest] = [word.slice(0, Math.max(0, colon)), word.slice(colon + 1)];
  try {
    const domain = parseDomainName(prefix);
    if (rest.toLowerCase() === 'domain') return { kind: 'domain', domain };
    if (rest.startsWith('role.')) return { kind: 'role', domain, role: parseRoleName(rest.slice(5)) };
    if (rest.startsWith('service.')) return { kind: 'service', domain, service: parseServiceName(rest.slice(8)) };
  } catch (error) {
    if (!(error instanceof InvalidNameError)) throw error;
  }
  throw new InvalidScopeError(
    'scope holds an item that is neither `openid` nor `<domain>:domain`, `<domain>:role.<role>` or `<domain>:service.<service>`',
  );
}
