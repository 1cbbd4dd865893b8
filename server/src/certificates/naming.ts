import type { DomainName, PathElement, RoleName, ServiceName } from '@signet/policy-engine/names';

export interface NamingRules {
  /** The trust domain of SPIFFE ids, e.g. `signet.local`. */
  readonly trustDomain: string;
  /** The end of DNS names that this server gives by itself, e.g. `signet.local`. */
  readonly dnsSuffix: string;
  /** Accepts the names that clients of the profile `athenz` ask for beside ours, and copies their subject. */
  readonly athenz: boolean;
}

export function serviceSpiffeId(rules: NamingRules, domain: DomainName, service: ServiceName): string {
  return `spiffe://${rules.trustDomain}/ns/default/sa/${domain}.${service}`;
}

export function roleSpiffeId(rules: NamingRules, domain: DomainName, role: RoleName): string {
  return `spiffe://${rules.trustDomain}/ns/${domain}/ra/${role}`;
}

/** The DNS name that carries an instance's id (decision 22). */
export function instanceIdName(rules: NamingRules, instanceId: PathElement): string {
  return `${instanceId}.instanceid.${rules.athenz ? 'athenz.' : ''}${rules.dnsSuffix}`;
}

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?';
const dnsGrammar = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label})+$`);

/** Whether a text is a host name of two labels or more, perhaps with `*` as the first. */
export function isDnsName(name: string): boolean {
  return name.length <= 253 && dnsGrammar.test(name) && name.split('.').every((part) => part.length <= 63);
}

/** Labels of a name that are looked at; each end of a name is a question to the policy. */
export const maxLabels = 12;

/** The ends of a name at its dots, the longest first: `b.c` and `c` of `a.b.c`. A name of more than `maxLabels` labels has longer ones only. */
export function suffixesOf(name: string): readonly string[] {
  const labels = name.split('.').slice(1, maxLabels);
  return labels.map((_, index) =>
    name
      .split('.')
      .slice(index + 1)
      .join('.'),
  );
}
