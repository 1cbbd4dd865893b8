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

/** What a scope asks for: all roles held in a domain, or the named ones; and an ID token for a service of that domain. */
export type RequestedScope = {
  readonly domain: DomainName;
  readonly idTokenService?: ServiceName;
} & ({ readonly kind: 'all-roles' } | { readonly kind: 'roles'; readonly roles: ReadonlySet<RoleName> });

type ScopeItem =
  | { readonly kind: 'openid' }
  | { readonly kind: 'domain'; readonly domain: DomainName }
  | { readonly kind: 'role'; readonly domain: DomainName; readonly role: RoleName }
  | { readonly kind: 'service'; readonly domain: DomainName; readonly service: ServiceName };

/** Longest scope: more than any sensible list of roles, less than a body may hold. */
const maxItems = 256;

/**
 * Reads a scope (interface document, Scope forms):
 *   scope = item *( SP item );  item = "openid" | domain ":domain" | domain ":role." role | domain ":service." service
 * Throws `InvalidScopeError` for two domains, for `openid` without a service or the reverse, for two services, for a scope
 * without roles to give, and for anything outside the grammar.
 */
export function parseScope(text: string): RequestedScope {
  const words = text.split(' ').filter((word) => word !== '');
  if (words.length === 0) throw new InvalidScopeError('scope is empty');
  if (words.length > maxItems) throw new InvalidScopeError(`scope has more than ${maxItems} items`);
  const items = words.map(parseItem);
  const domain = onlyDomain(items);
  const idTokenService = idTokenServiceOf(items);
  const roles = items.filter((item) => item.kind === 'role').map((item) => item.role);
  const all = items.some((item) => item.kind === 'domain');
  if (!all && roles.length === 0)
    throw new InvalidScopeError('scope asks for no role: an ID token is given only beside an access token');
  return {
    domain,
    ...(idTokenService !== undefined && { idTokenService }),
    ...(all ? { kind: 'all-roles' } : { kind: 'roles', roles: new Set(roles) }),
  };
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

function onlyDomain(items: readonly ScopeItem[]): DomainName {
  const domains = new Set(items.flatMap((item) => (item.kind === 'openid' ? [] : [item.domain])));
  const [domain, second] = domains;
  if (second !== undefined) throw new InvalidScopeError('scope names more than one domain');
  if (domain === undefined) throw new InvalidScopeError('scope names no domain');
  return domain;
}

function idTokenServiceOf(items: readonly ScopeItem[]): ServiceName | undefined {
  const services = new Set(items.flatMap((item) => (item.kind === 'service' ? [item.service] : [])));
  const openid = items.some((item) => item.kind === 'openid');
  if (services.size > 1) throw new InvalidScopeError('scope names more than one service');
  const [service] = services;
  if (openid && service === undefined)
    throw new InvalidScopeError('`openid` needs a scope `<domain>:service.<service>`');
  if (!openid && service !== undefined) throw new InvalidScopeError('a service scope needs `openid`');
  return service;
}
