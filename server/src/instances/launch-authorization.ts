import type { DomainName, PrincipalName, ServiceName } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { ForbiddenError, UnknownDomainError } from '../errors.ts';
import { holdsNothing, type Snapshot } from '../snapshot/snapshot.ts';
import { maxLabels, suffixesOf } from '../x509/naming.ts';
import { addressResource } from '../x509/subject-alt-names.ts';

const launch = authorityAction('launch');

type Status = 'allowed' | 'denied' | 'unmatched';

function launchStatus(snapshot: Snapshot, provider: PrincipalName, resource: string, now: number): Status {
  try {
    const { granted, decision } = checkAccess(snapshot, { principal: provider, action: launch, resource }, now);
    if (granted) return 'allowed';
    return decision.status === 'DENY' ? 'denied' : 'unmatched';
  } catch (error) {
    if (error instanceof UnknownDomainError) return 'unmatched';
    throw error;
  }
}

/**
 * Requires that a provider may launch instances at all (`launch` on `sys.auth:instance`) and of this service (`launch` on
 * `<domain>:service.<service>`). `now` in milliseconds. Throws `ForbiddenError` with the missing right: the names are those of the request, the
 * policy is public, and a DENY reads like an ALLOW that is missing.
 */
export function authorizeLaunch(
  snapshot: Snapshot,
  provider: PrincipalName,
  tenant: { readonly domain: DomainName; readonly service: ServiceName },
  now: number,
): void {
  const { domain, service } = tenant;
  for (const [resource, instances] of [
    ['sys.auth:instance', 'instances'],
    [`${domain}:service.${service}`, `\`${domain}.${service}\` instances`],
  ] as const) {
    if (launchStatus(snapshot, provider, resource, now) === 'allowed') continue;
    const refused = `provider \`${provider}\` is not authorized to launch ${instances}`;
    throw new ForbiddenError(
      `${refused}: ${holdsNothing(snapshot, provider) ? 'it is not registered and enabled as a service' : `it needs \`launch\` on \`${resource}\``}`,
    );
  }
}

/** Whether a provider's instances may have DNS names below this suffix (`launch` on `sys.auth:dns.<suffix>`). */
export function mayUseDnsSuffix(snapshot: Snapshot, provider: PrincipalName, suffix: string, now: number): boolean {
  return launchStatus(snapshot, provider, dnsSuffixResource(suffix), now) === 'allowed';
}

/** Resource of the right to DNS names below a suffix. */
export function dnsSuffixResource(suffix: string): string {
  return `sys.auth:dns.${suffix}`;
}

/**
 * Whether certificates that this principal vouches for may hold an address, in hexadecimal octets (`launch` on
 * `sys.auth:address.<address>`).
 */
export function mayUseAddress(snapshot: Snapshot, voucher: PrincipalName, octets: string, now: number): boolean {
  return launchStatus(snapshot, voucher, addressResource(octets), now) === 'allowed';
}

/**
 * Whether a provider may vouch for this host name: some end of it is allowed in `sys.auth:hostname.<end>`, and none denied. The
 * name `localhost` has no end but itself.
 */
export function mayVouchForHost(snapshot: Snapshot, provider: PrincipalName, hostname: string, now: number): boolean {
  // Of a longer name the short ends would not be looked at, and one of them may be denied.
  if (hostname.split('.').length > maxLabels) return false;
  const ends = hostname === 'localhost' ? [hostname] : suffixesOf(hostname);
  const statuses = ends.map((suffix) => launchStatus(snapshot, provider, `sys.auth:hostname.${suffix}`, now));
  return statuses.includes('allowed') && !statuses.includes('denied');
}
