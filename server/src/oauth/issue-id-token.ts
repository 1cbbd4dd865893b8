import { epochSeconds } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError, InvalidRequestError } from '../errors.ts';
import { NoSigningKeyError } from '../keys/signing-keys.ts';
import type { Principal } from '../principals/principal.ts';
import { heldGroups } from '../roles/granted-groups.ts';
import { type Compared, heldRoles, type Moment, stepsARole } from '../roles/granted-roles.ts';
import { aSecondOn, heldUntil } from '../roles/held-until.ts';
import { existingDomain } from '../snapshot/existing-domain.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { idTokenClaims } from './claims.ts';
import type { IdTokenRequest } from './id-token-request.ts';
import type { IssueTokensDeps } from './issue-tokens.ts';
import { idTokenLifeSeconds } from './lifetimes.ts';
import { requirePresentable } from './token-size.ts';

export interface IdTokenDeps extends IssueTokensDeps {
  /** Suffixes below which a service has a name of its own, to which the browser of a user may be sent. */
  readonly suffixes: readonly string[];
}

/** The longest life of an ID token that is given alone, in seconds. */
const maxIdTokenSeconds = 43_200;

/**
 * An ID token that is given alone (docs/reference/athenz.md#id-tokens). Throws `InvalidRequestError` for a client or an address that is
 * not registered, `UnknownDomainError`, and `ForbiddenError`.
 */
export function issueIdToken(
  deps: IdTokenDeps,
  principal: Principal,
  request: IdTokenRequest,
  compared?: Compared,
): { readonly idToken: string; readonly expires: number } {
  const snapshot = deps.snapshot();
  const { domain, service } = request.client;
  checkClient(deps, snapshot, request);
  if (principal.kind === 'role') throw new ForbiddenError('a role certificate cannot be used to get a token');
  if (!deps.idTokens) throw new ForbiddenError('this server gives no ID tokens');
  const now = epochSeconds(deps.clock);
  let hasEnd = false;
  const onEnd = () => {
    hasEnd = true;
  };
  const held = groupsOf(snapshot, principal.name, request, { now: aSecondOn(deps.clock), compared, onEnd });
  const { groups: asked, mustHoldAll } = request;
  if (mustHoldAll && [...asked.named].some((each) => held?.includes(each) !== true)) {
    throw new ForbiddenError('principal does not hold every role and group of the scope');
  }
  const { idToken: signer } = deps.keys.current();
  if (signer === undefined) throw new NoSigningKeyError('token');
  const { issuer } = deps;
  const longest = Math.min(request.requestedSeconds ?? idTokenLifeSeconds, maxIdTokenSeconds);
  // Memberships end and none begins: as many as now are the same ones.
  const areHeld = (at: number) =>
    !hasEnd || groupsOf(snapshot, principal.name, request, { now: at, compared })?.length === held?.length;
  const lifeSeconds = heldUntil(areHeld, now, now + longest) - now;
  const groups = held?.map((each) => claimedName(each, request));
  const claims = idTokenClaims({ issuer, principal: principal.name, domain, service, now, lifeSeconds });
  const idToken = signer.sign(JSON.stringify({ ...claims, nonce: request.nonce, groups }));
  return { idToken: requirePresentable(idToken, groups?.length ?? 0), expires: claims.exp };
}

function checkClient({ suffixes }: IdTokenDeps, snapshot: Snapshot, { client, redirect }: IdTokenRequest): void {
  const domain = snapshot.domain(client.domain);
  const service = domain?.services.get(client.service);
  if (service?.enabled !== true) {
    throw new InvalidRequestError(`client_id: service \`${client.domain}.${client.service}\` does not exist`);
  }
  if (redirect.uri === undefined || redirect.uri === service.endpoint) return;
  const dnsForm = domain?.dnsForm;
  const isOwn = suffixes.some((suffix) => redirect.uri === `https://${client.service}.${dnsForm}.${suffix}`);
  if (dnsForm !== undefined && isOwn) return;
  throw new InvalidRequestError('redirect_uri is not the registered endpoint of the service, nor its own name');
}

/** Requested roles and groups that the principal holds: `group.<name>` and `role.<name>`; undefined if none is asked for. Throws `UnknownDomainError`. */
function groupsOf(
  snapshot: Snapshot,
  principal: PrincipalName,
  { client, groups }: IdTokenRequest,
  moment: Moment,
): readonly string[] | undefined {
  if (!groups.allRoles && !groups.allGroups && groups.named.size === 0) return undefined;
  const domain = existingDomain(snapshot, groups.domain ?? client.domain);
  const held = heldOf(snapshot, domain, principal, moment);
  moment.compared?.(held.size * stepsARole);
  return [...held].filter(
    (each) =>
      groups.named.has(each) ||
      (groups.allRoles && each.startsWith('role.')) ||
      (groups.allGroups && each.startsWith('group.')),
  );
}

/** A role or group as the claim has it. */
function claimedName(each: string, { client, groups, fullNames }: IdTokenRequest): string {
  return fullNames ? `${groups.domain ?? client.domain}:${each}` : each.slice(each.indexOf('.') + 1);
}

/** The roles and groups of a principal: `group.<name>` and `role.<name>`, sorted. */
function heldOf(
  snapshot: Snapshot,
  domain: DomainSnapshot,
  principal: PrincipalName,
  moment: Moment,
): ReadonlySet<string> {
  const groups = heldGroups(snapshot, domain, principal, moment).map((group) => `group.${group}`);
  return new Set([...groups, ...heldRoles(snapshot, domain, principal, moment).map((role) => `role.${role.name}`)]);
}
