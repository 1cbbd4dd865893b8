import type { DomainName, ServiceName } from '@signet/policy-engine/names';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { beforeSuffix, dnsFormOf, isInstanceArea, type NamingRules } from '../x509/naming.ts';

/** Rules for a host name beside the right of the provider that attests it. */
export interface HostRules {
  readonly rules: NamingRules;
  /** Predicate: clients know the server by this name (lower case); `localhost` is excepted. */
  readonly isServerHost: (host: string) => boolean;
}

/**
 * True if a host name must not be certified for the program on that host: the server's own, one that only instances have, or that of a service
 * of an existing domain. `localhost` is the name of any program on the same machine, so a certificate for it proves nothing.
 */
export function isReservedHost(
  snapshot: Pick<Snapshot, 'domain' | 'domains' | 'disabledDomains'>,
  { rules, isServerHost }: HostRules,
  tenant: { readonly domain: DomainName; readonly service: ServiceName },
  host: string,
): boolean {
  if (host !== 'localhost' && isServerHost(host)) return true;
  if (isInstanceArea(host, rules)) return true;
  const before = beforeSuffix(host, rules.dnsSuffix);
  if (before === undefined || before === `${tenant.service}.${tenant.domain}`) return false;
  const domain = before.slice(before.indexOf('.') + 1);
  // A single label is a host; more of them are the name of a service when there is a domain of that name or form.
  return domain !== before && isNameOfDomain(snapshot, domain);
}

function isNameOfDomain({ domains, disabledDomains }: Pick<Snapshot, 'domains' | 'disabledDomains'>, text: string) {
  // A form is as long as its name: of a hundred thousand domains few are compared.
  const isNamed = (name: DomainName) => name.length === text.length && (name === text || dnsFormOf(name) === text);
  for (const name of domains.keys()) if (isNamed(name)) return true;
  for (const name of disabledDomains) if (isNamed(name)) return true;
  return false;
}
