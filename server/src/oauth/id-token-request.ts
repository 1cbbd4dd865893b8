import {
  type DomainName,
  foldAscii,
  InvalidNameError,
  parseDomainName,
  parseGroupName,
  parseRoleName,
  parseServiceName,
  type ServiceName,
} from '@signet/policy-engine/names';
import { InvalidRequestError, InvalidScopeError } from '../errors.ts';
import { secondsOf } from './lifetimes.ts';
import { refuseWithoutEffect } from './request-rules.ts';
import { maxScopeItems } from './scope.ts';

/** Requested content of the claim `groups` of an ID token: all of a kind that the principal holds, or the named ones. */
interface RequestedGroups {
  /** Domain of the roles; absent: the domain of the service. */
  readonly domain: DomainName | undefined;
  readonly allRoles: boolean;
  readonly allGroups: boolean;
  /** `role.<name>` and `group.<name>`. */
  readonly named: ReadonlySet<string>;
}

/** A request for an ID token alone that is well-formed. */
export interface IdTokenRequest {
  /** Service that the token is for. */
  readonly client: { readonly domain: DomainName; readonly service: ServiceName };
  readonly nonce: string;
  readonly groups: RequestedGroups;
  readonly requestedSeconds: number | undefined;
  readonly fullNames: boolean;
  /** True if every role and group that is named must be held. */
  readonly mustHoldAll: boolean;
  readonly redirect: { readonly uri: string | undefined; readonly state: string | undefined };
  readonly asJson: boolean;
}

/** Reads the query of `GET /oauth2/auth` (docs/reference/athenz.md#id-tokens). Throws `InvalidRequestError`, `InvalidScopeError` and `InvalidTargetError`. */
export function parseIdTokenRequest(query: ReadonlyMap<string, string>): IdTokenRequest {
  refuseWithoutEffect(query);
  if (query.get('response_type') !== 'id_token') throw new InvalidRequestError('response_type must be `id_token`');
  const nonce = query.get('nonce');
  if (nonce === undefined) throw new InvalidRequestError('nonce is missing');
  const asJson = query.get('output') === 'json';
  const uri = query.get('redirect_uri');
  if (uri === undefined && !asJson)
    throw new InvalidRequestError('redirect_uri is missing: else ask for `output=json`');
  return {
    client: parseClient(query.get('client_id')),
    nonce,
    groups: parseGroups(query.get('scope') ?? ''),
    requestedSeconds: secondsOf(query, 'expiryTime'),
    fullNames: query.get('fullArn') === 'true',
    mustHoldAll: query.get('allScopePresent') === 'true',
    redirect: { uri, state: query.get('state') },
    asJson,
  };
}

function parseClient(text: string | undefined): IdTokenRequest['client'] {
  const at = text?.lastIndexOf('.') ?? -1;
  if (text === undefined || at < 0) throw new InvalidRequestError('client_id must be a service: `<domain>.<service>`');
  return {
    domain: parseDomainName(text.slice(0, at), 'client_id'),
    service: parseServiceName(text.slice(at + 1), 'client_id'),
  };
}

function parseGroups(scope: string): RequestedGroups {
  const words = foldAscii(scope)
    .split(' ')
    .filter((word) => word !== '');
  if (words.length > maxScopeItems) throw new InvalidScopeError(`scope has more than ${maxScopeItems} items`);
  if (!words.includes('openid')) throw new InvalidScopeError('scope must hold `openid`');
  const named = new Set<string>();
  let domain: DomainName | undefined;
  for (const word of words) {
    if (['openid', 'roles', 'groups'].includes(word)) continue;
    const item = parseItem(word);
    if (domain !== undefined && item.domain !== domain) throw new InvalidScopeError('scope names more than one domain');
    domain = item.domain;
    named.add(item.name);
  }
  return { domain, allRoles: words.includes('roles'), allGroups: words.includes('groups'), named };
}

function parseItem(word: string): { readonly domain: DomainName; readonly name: string } {
  const [, domain, kind, name] = /^([^:]+):(role|group)\.(.+)$/.exec(word) ?? [];
  try {
    if (kind === 'role') return { domain: parseDomainName(domain), name: `role.${parseRoleName(name)}` };
    if (kind === 'group') return { domain: parseDomainName(domain), name: `group.${parseGroupName(name)}` };
  } catch (error) {
    if (!(error instanceof InvalidNameError)) throw error;
  }
  throw new InvalidScopeError(
    'scope holds an item that is neither `openid`, `roles` nor `groups`, nor `<domain>:role.<role>` or `<domain>:group.<group>`',
  );
}
