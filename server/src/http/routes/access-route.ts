import type { RouterMiddleware } from '@koa/router';
import type { Clock } from '@signet/policy-engine/clock';
import {
  type ActionName,
  type DomainName,
  type PrincipalName,
  parseActionName,
  parseDomainName,
  parsePrincipalName,
  parseRoleName,
} from '@signet/policy-engine/names';
import { maxResourceLength } from '@signet/policy-engine/policy';
import type { Access, RoleAccess } from '@signet/policy-engine/wire';
import { authorityAction } from '../../access/authority.ts';
import { checkAccess } from '../../access/check-access.ts';
import { costs } from '../../budgets/costs.ts';
import { ForbiddenError, InvalidRequestError } from '../../errors.ts';
import { heldRoles } from '../../roles/granted-roles.ts';
import { existingDomain } from '../../snapshot/existing-domain.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { comparedFor } from '../compared-for.ts';
import { answerJson, type RequestState, type RouteContext, requireIdentity, requirePrincipal } from '../context.ts';
import { parseParameters } from '../parameters.ts';
import { answerPlainJson } from '../plain-answer.ts';

export interface AccessDeps {
  readonly snapshot: () => Snapshot;
  readonly clock: Clock;
  /** True if the certificate of this thumbprint was revoked. */
  readonly isRevokedThumbprint: (thumbprint: string) => boolean;
  /**
   * True if a check of another principal takes `access_check` on `<domain>:principal.<principal>` (docs/reference/access-checks.md#who-may-ask).
   */
  readonly restricted: boolean;
}

/**
 * `GET /access/{action}?resource=…` and `GET /access/{action}/{resource}`: may the principal do the action on the resource? A provider
 * that asks about the holder of a certificate sends its `thumbprint`, so that a revoked certificate is answered as one.
 */
export function accessRoute(deps: AccessDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const query = Object.fromEntries(parseParameters(ctx.querystring, 'query'));
    const { action, resource = query['resource'] } = ctx.params;
    const question = parseQuestion({ ...query, action, resource });
    const granted = isGranted(deps, deps.snapshot(), ctx, question);
    answerPlainJson(ctx, JSON.stringify({ granted } satisfies Access));
  };
}

/** Fields of a query. */
type QuestionField = 'action' | 'resource' | 'principal' | 'domain' | 'thumbprint';

interface Question {
  readonly action: ActionName;
  readonly resource: string;
  /** Domain of the resource. */
  readonly domain: DomainName;
  /** Principal in question; absent: the caller. */
  readonly principal: PrincipalName | undefined;
  readonly trustDomain: DomainName | undefined;
  readonly thumbprint: string | undefined;
}

/** Reads one question; `at` stands before the names of its fields. Throws `InvalidRequestError` and `InvalidNameError`. */
export function parseQuestion(fields: Readonly<Partial<Record<QuestionField, unknown>>>, at = ''): Question {
  const { principal, domain: trustDomain, thumbprint } = fields;
  return {
    action: parseActionName(fields.action, `${at}action`),
    ...parseResource(fields.resource, at),
    trustDomain: trustDomain === undefined ? undefined : parseDomainName(trustDomain, `${at}domain`),
    principal: principal === undefined ? undefined : parsePrincipal(principal, at),
    thumbprint: thumbprint === undefined ? undefined : parseThumbprint(thumbprint, at),
  };
}

/** True if the access is granted; the caller is charged. Throws `UnknownDomainError`, and `ForbiddenError` for a caller who may not ask. */
export function isGranted(deps: AccessDeps, snapshot: Snapshot, ctx: RouteContext, question: Question): boolean {
  const { action, resource, domain, trustDomain, thumbprint, principal = requireIdentity(ctx).name } = question;
  const asked = { principal, action, resource, ...(trustDomain !== undefined && { trustDomain }) };
  const answer = checkAccess(snapshot, asked, deps.clock.now());
  comparedFor(ctx)(answer.work);
  requireRightToAsk(deps, snapshot, ctx, { domain, principal });
  // A revoked certificate grants nothing, whatever its principal may do with another.
  return answer.granted && !(thumbprint !== undefined && deps.isRevokedThumbprint(thumbprint));
}

/** `GET /access/domain/{domainName}/principal/{principal}`: the roles that the principal has in the domain. */
export function roleAccessRoute(deps: AccessDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const roles = rolesOf(deps, ctx).map((role) => role.name);
    answerJson(ctx, JSON.stringify({ roles: roles.sort() } satisfies RoleAccess));
  };
}

/** `GET /access/domain/{domainName}/role/{roleName}/principal/{principal}`: is the principal in the role? */
export function roleCheckRoute(deps: AccessDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const name = parseRoleName(ctx.params['roleName'], 'roleName');
    const granted = rolesOf(deps, ctx).some((role) => role.name === name);
    answerPlainJson(ctx, JSON.stringify({ granted } satisfies Access));
  };
}

function rolesOf(deps: AccessDeps, ctx: RouteContext) {
  requirePrincipal(ctx);
  const name = parseDomainName(ctx.params['domainName'], 'domainName');
  const principal = parsePrincipal(ctx.params['principal']);
  const snapshot = deps.snapshot();
  const domain = existingDomain(snapshot, name);
  requireRightToAsk(deps, snapshot, ctx, { domain: name, principal });
  const roles = heldRoles(snapshot, domain, principal, { now: deps.clock.now(), compared: comparedFor(ctx) });
  ctx.state.work += roles.length * costs.row;
  return roles;
}

/** A service or user; a group cannot act. */
function parsePrincipal(value: unknown, at = ''): PrincipalName {
  const principal = parsePrincipalName(value, `${at}principal`);
  if (principal.includes(':')) throw new InvalidRequestError(`${at}principal must be a service or a user`);
  return principal;
}

/** `x5t#S256` of RFC 8705 §3.1: 43 characters of base64url. */
function parseThumbprint(value: unknown, at: string): string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(value)) {
    throw new InvalidRequestError(
      `${at}thumbprint must be the SHA-256 of a certificate in DER, base64url without padding`,
    );
  }
  return value;
}

/** `domain:entity`, the domain in the grammar of names and the entity free text (it may be a path). */
function parseResource(value: unknown, at: string): { resource: string; domain: DomainName } {
  if (typeof value !== 'string') throw new InvalidRequestError(`${at}resource is missing`);
  if (value.length > maxResourceLength) {
    throw new InvalidRequestError(`${at}resource must have at most ${maxResourceLength} characters`);
  }
  const colon = value.indexOf(':');
  if (colon < 0) throw new InvalidRequestError(`${at}resource must be \`domain:entity\``);
  return { resource: value, domain: parseDomainName(value.slice(0, colon), `domain of the ${at}resource`) };
}

/** Principal and domain whose roles are requested. */
interface AskedPrincipal {
  readonly domain: DomainName;
  readonly principal: PrincipalName;
}

/** Throws `ForbiddenError` where checks are restricted and the caller lacks the right to ask about this other principal. */
export function requireRightToAsk(
  deps: AccessDeps,
  snapshot: Snapshot,
  ctx: { state: RequestState },
  { domain, principal: subject }: AskedPrincipal,
): void {
  if (!deps.restricted) return;
  const caller = requireIdentity(ctx).name;
  if (caller === subject) return;
  const right = {
    principal: caller,
    action: authorityAction('access_check'),
    resource: `${domain}:principal.${subject}`,
  };
  const { granted, work } = checkAccess(snapshot, right, deps.clock.now());
  comparedFor(ctx)(work);
  if (!granted) {
    throw new ForbiddenError('caller may not ask about this principal');
  }
}
