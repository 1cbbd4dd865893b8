import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { decideCounted } from '../access/decide-counted.ts';
import { requireKnownIdentity } from '../access/known-identity.ts';
import type { Asker } from '../access/recording-conditions.ts';
import { ForbiddenError, InvalidRequestError, UnauthenticatedError } from '../errors.ts';
import type { CertificateStore } from '../model/certificate-store.ts';
import { heldRoles, stepsARole } from '../roles/granted-roles.ts';
import { aSecondOn, heldUntil } from '../roles/held-until.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import type { CredentialsCache } from './credentials-cache.ts';
import type { CredentialsRequest } from './credentials-request.ts';
import { roleSession, type TemporaryCredentials } from './role-session.ts';

export interface GetCredentialsDeps {
  readonly snapshot: () => Snapshot;
  /** The snapshot as of what the store says now. */
  readonly latest: () => Promise<Snapshot>;
  readonly certificates: Pick<CertificateStore, 'find'>;
  readonly clock: Clock;
  readonly cache: CredentialsCache;
}

/** Callbacks for the cost of a request, which its caller is charged. */
interface Spending {
  /** The cloud is asked. */
  readonly asked?: () => void;
  /** Called with the cost of decisions, in units of `maxWork` of the engine. */
  readonly compared?: (work: number) => void;
}

const action = authorityAction('assume_aws_role');

/**
 * Temporary credentials of the cloud role. The right is checked on every call, before the cache and before the cloud is asked, and once
 * more as the store says it before they are answered, since the cloud takes its time. Throws `UnknownDomainError`, `ForbiddenError`,
 * `UnauthenticatedError`, `InvalidRequestError` (no account, or the cloud's refusal) and `ServiceUnavailableError`.
 */
export async function getCredentials(
  deps: GetCredentialsDeps,
  caller: Asker,
  request: CredentialsRequest,
  spending: Spending = {},
): Promise<TemporaryCredentials> {
  const asking = { principal: caller.principal, request, compared: spending.compared };
  const snapshot = deps.snapshot();
  const start = epochSeconds(deps.clock);
  const account = accountFor(snapshot, aSecondOn(deps.clock), asking);
  const bounded = { ...request, ...boundedDuration(snapshot, start, asking) };
  const credentials = await deps.cache.get(roleSession(account, caller.principal, bounded), spending.asked);
  await requireStillHeld(deps, caller, asking, { account, expiration: credentials.expiration });
  return credentials;
}

/** Caller, requested role, and callbacks for the cost of the decision. */
interface Asking {
  readonly principal: PrincipalName;
  readonly request: CredentialsRequest;
  readonly compared: Spending['compared'];
}

/** Life of a session for which no other was asked, in seconds: that of the cloud. */
const defaultDurationSeconds = 3600;

/** The least life of a session in the cloud, in seconds. Shorter lives are multiples of it, so that few sessions are kept. */
const minDurationSeconds = 900;

/** Margin for the call of the cloud and its clock, in seconds. */
const callMarginSeconds = 60;

/** A shorter life where the memberships that give the right end sooner. Throws `ForbiddenError` where the cloud has no session as short. */
function boundedDuration(
  snapshot: Snapshot,
  start: number,
  asking: Asking,
): Pick<CredentialsRequest, 'durationSeconds'> | undefined {
  const { domain, role, durationSeconds: wanted = defaultDurationSeconds } = asking.request;
  const latest = start + wanted + callMarginSeconds;
  const left = heldUntil((now) => isAllowed(snapshot, now, asking), start, latest) - start - callMarginSeconds;
  if (left >= wanted) return undefined;
  const durationSeconds = left - (left % minDurationSeconds);
  if (durationSeconds >= minDurationSeconds) return { durationSeconds };
  throw new ForbiddenError(
    `the right to \`${action}\` on \`${domain}:${role}\` ends too soon: credentials need ${minDurationSeconds + callMarginSeconds} seconds of membership`,
  );
}

/** True if the right is held at a moment in milliseconds. */
function isAllowed(snapshot: Snapshot, now: number, { principal, request, compared }: Asking): boolean {
  const domain = existingDomain(snapshot, request.domain);
  const roles = heldRoles(snapshot, domain, principal, { now, compared }).map((role) => role.name);
  compared?.(roles.length * stepsARole);
  return mayAssume(domain, roles, request.role, compared);
}

/** The cloud account of the domain, for who may assume the role. */
function accountFor(snapshot: Snapshot, now: number, asking: Asking): string {
  const { request } = asking;
  const domain = existingDomain(snapshot, request.domain);
  if (!isAllowed(snapshot, now, asking)) {
    throw new ForbiddenError(`principal may not \`${action}\` on \`${request.domain}:${request.role}\``);
  }
  if (domain.accounts.aws === undefined)
    throw new InvalidRequestError(`domain \`${request.domain}\` has no cloud account`);
  return domain.accounts.aws;
}

async function requireStillHeld(
  { latest, certificates }: GetCredentialsDeps,
  { principal, certificate }: Asker,
  asking: Asking,
  { account, expiration }: { readonly account: string; readonly expiration: number },
): Promise<void> {
  const record = certificate && (await certificates.find(certificate.serial));
  if (record?.revoked !== undefined) throw new UnauthenticatedError('client certificate was revoked');
  const snapshot = await latest();
  requireKnownIdentity(principal, snapshot, certificate?.issuedAt);
  if (accountFor(snapshot, expiration - 1, asking) === account) return;
  throw new ForbiddenError(`the cloud account of domain \`${asking.request.domain}\` was changed meanwhile, ask again`);
}

/**
 * The right must be given to a role by its own name on exactly this resource: wildcards do not hand out cloud roles
 * (docs/reference/cloud-credentials.md#who-may). They do deny them: any DENY that matches wins.
 */
function mayAssume(
  domain: DomainSnapshot,
  roles: readonly string[],
  role: string,
  compared: Spending['compared'],
): boolean {
  const given = exactRulesOf(domain).get(`${domain.name}:${role.toLowerCase()}`);
  if (given === undefined || !roles.some((name) => given.has(`${domain.name}:role.${name}`))) return false;
  const { decision, work } = decideCounted(domain.policy, roles, { action, resource: role.toLowerCase() });
  compared?.(work);
  return decision.status === 'ALLOW';
}

/** Roles by resource to which assertions grant the right by its exact name. */
type ExactRules = ReadonlyMap<string, ReadonlySet<string>>;

const exactRules = new WeakMap<DomainSnapshot, ExactRules>();

/** Found once for a domain, which may have tens of thousands of assertions. */
function exactRulesOf(domain: DomainSnapshot): ExactRules {
  const known = exactRules.get(domain);
  if (known !== undefined) return known;
  const found = new Map<string, Set<string>>();
  for (const { active, assertions } of domain.policies) {
    if (active === false) continue;
    for (const { effect, conditions, role, ...rule } of assertions) {
      if (effect === 'DENY' || conditions !== undefined || rule.action.toLowerCase() !== action) continue;
      const resource = rule.resource.toLowerCase();
      found.set(resource, (found.get(resource) ?? new Set()).add(role));
    }
  }
  exactRules.set(domain, found);
  return found;
}
