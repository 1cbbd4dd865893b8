import { sign } from 'node:crypto';
import { parseDomainName, parseRoleName, type RoleName } from '@signet/policy-engine/names';
import { ybase64 } from '../base/ybase64.ts';
import { ForbiddenError, InvalidRequestError } from '../errors.ts';
import { NoSigningKeyError } from '../keys/signing-keys.ts';
import type { Principal } from '../principals/principal.ts';
import type { Compared } from '../roles/granted-roles.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { IssueTokensDeps } from './issue-tokens.ts';
import { secondsOf } from './lifetimes.ts';
import { maxScopeItems, type RequestedScope } from './scope.ts';
import { grantRoles } from './token-grant.ts';
import { requirePresentable } from './token-size.ts';

export interface RoleTokenDeps extends IssueTokensDeps {
  /** The host of the base URL. */
  readonly host: string;
  /** Sixteen hexadecimal digits, others for each call. */
  readonly newSalt: () => string;
}

/** A request for a role token that is well-formed. */
interface RoleTokenRequest {
  readonly scope: RequestedScope;
  readonly requestedSeconds: number | undefined;
}

/** The answer: the text of the token, and its end in seconds since the epoch. */
interface RoleToken {
  readonly token: string;
  readonly expiryTime: number;
}

/** Reads `role`, `minExpiryTime` and `maxExpiryTime` of a query. Throws `InvalidRequestError`, and `ForbiddenError` for another principal. */
export function parseRoleTokenRequest(domainName: unknown, query: ReadonlyMap<string, string>): RoleTokenRequest {
  const domain = parseDomainName(domainName, 'domainName');
  if (query.has('proxyForPrincipal')) throw new ForbiddenError('role tokens are given to their holder only');
  const longest = secondsOf(query, 'maxExpiryTime');
  const requestedSeconds = longest ?? secondsOf(query, 'minExpiryTime');
  const names = query.get('role');
  if (names === undefined) return { scope: { kind: 'all-roles', domain }, requestedSeconds };
  const words = names.split(',');
  if (words.length > maxScopeItems) throw new InvalidRequestError(`role has more than ${maxScopeItems} names`);
  const roles = new Set<RoleName>(words.map((word) => parseRoleName(word, 'role')));
  return { scope: { kind: 'roles', domain, roles }, requestedSeconds };
}

/**
 * A role token (docs/reference/athenz.md#role-tokens), for the same roles and the same time as an access token. It is bound to no
 * certificate: its form has no place for one. Throws as `issueTokens` does.
 */
export function issueRoleToken(
  deps: RoleTokenDeps,
  principal: Principal,
  request: RoleTokenRequest,
  compared?: Compared,
): RoleToken {
  const { scope } = request;
  const snapshot = deps.snapshot();
  const domain = existingDomain(snapshot, scope.domain);
  if (principal.kind === 'role') throw new ForbiddenError('a role certificate cannot be used to get a token');
  const { roles, now, lifeSeconds } = grantRoles(
    deps,
    { snapshot, domain, principal: principal.name },
    { ...request, compared },
  );
  const { token: key } = deps.keys.current();
  if (key === undefined) throw new NoSigningKeyError('token');
  const fields = [
    'v=Z1',
    `d=${domain.name}`,
    `r=${roles.map(({ name }) => name).join(',')}`,
    // Mark for all held roles: readers then know that none was left out.
    ...(scope.kind === 'all-roles' ? ['c=1'] : []),
    `p=${principal.name}`,
    `h=${deps.host}`,
    `a=${deps.newSalt()}`,
    `t=${now}`,
    `e=${now + lifeSeconds}`,
    `k=${key.kid}`,
  ];
  const text = fields.join(';');
  const signature = sign('sha256', Buffer.from(text, 'latin1'), key.privateKey);
  const token = requirePresentable(`${text};s=${ybase64(signature)}`, roles.length);
  return { token, expiryTime: now + lifeSeconds };
}
