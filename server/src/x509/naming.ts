import { hash } from 'node:crypto';
import {
  type DomainName,
  formerInstanceHostName,
  type InstanceNameParts,
  instanceHostName,
  instanceNameMarker,
  type RoleName,
  type ServiceName,
} from '@signet/policy-engine/names';
import type { NameForms } from './name-forms.ts';

export interface NamingRules {
  /** The trust domain of SPIFFE ids, e.g. `signet.local`. */
  readonly trustDomain: string;
  /** The end of DNS names that this server gives by itself, e.g. `signet.local`. */
  readonly dnsSuffix: string;
  /** Accepted spellings of names in requests. */
  readonly forms: NameForms;
}

export function serviceSpiffeId(rules: NamingRules, domain: DomainName, service: ServiceName): string {
  return `spiffe://${rules.trustDomain}/ns/default/sa/${domain}.${service}`;
}

export function roleSpiffeId(rules: NamingRules, domain: DomainName, role: RoleName): string {
  return `spiffe://${rules.trustDomain}/ns/${domain}/ra/${role}`;
}

/** The one DNS name that only this instance has (decision record 013). */
export function instanceIdName(rules: NamingRules, instance: InstanceNameParts): string {
  return instanceHostName(instance, rules.dnsSuffix, (text) => hash('sha256', text, 'buffer'));
}

/** True if a name is that of this instance, as it is now or was while underscores were certified. */
export function isInstanceName(rules: NamingRules, instance: InstanceNameParts, name: string): boolean {
  return name === instanceIdName(rules, instance) || name === formerName(rules, instance);
}

function formerName(rules: NamingRules, instance: InstanceNameParts): string {
  return formerInstanceHostName(instance, rules.dnsSuffix, (text) => hash('sha256', text, 'buffer'));
}

/** A name as instances had it before it carried their owner, or with underscores, is read as the one of now; other names are as they are. */
export function currentNameOf(rules: NamingRules, instance: InstanceNameParts, name: string): string {
  const before = `${instance.instanceId}.${instanceNameMarker}.${rules.dnsSuffix}`;
  const isFormer = [before.toLowerCase(), formerName(rules, instance)].includes(name.toLowerCase());
  return isFormer ? instanceIdName(rules, instance) : name;
}

/** The domain as one label of a DNS name. Two domains may have the same one: the store gives it to one of them. */
export function dnsFormOf(domain: DomainName): string {
  return domain.replaceAll('.', '-');
}

/** Message for a domain without DNS names, since another one has its form. */
export function withoutDnsNames(domain: DomainName): string {
  return `domain \`${domain}\` has no DNS names: another domain has its form \`${dnsFormOf(domain)}\``;
}

/** The part of a name before a suffix; undefined when it does not end so. */
export function beforeSuffix(name: string, suffix: string): string | undefined {
  return name.endsWith(`.${suffix}`) ? name.slice(0, -suffix.length - 1) : undefined;
}

/**
 * True if a name is one that only instances have, below the server's own suffix: in the present form, the former one, or that of the profile
 * `athenz`.
 */
export function isInstanceArea(name: string, rules: NamingRules): boolean {
  const rest = beforeSuffix(name, rules.dnsSuffix);
  return [instanceNameMarker, `${instanceNameMarker}.athenz`].some(
    (area) => rest === area || rest?.endsWith(`.${area}`) === true,
  );
}

/**
 * The DNS names by which a machine is known as a host: without wildcards, and of the names of instances only its own. Those that the
 * profile `athenz` gives carry no owner, and certificates of before hold some that two may have.
 */
export function hostNamesOf(dnsNames: readonly string[], ownName: string | undefined): readonly string[] {
  const isInstanceName = (name: string) => name.toLowerCase().includes(`.${instanceNameMarker}.`);
  return dnsNames.filter((name) => !name.startsWith('*') && (name === ownName || !isInstanceName(name)));
}

/** RFC 1035 §2.3.4, without the dot at the end. */
const maxNameLength = 253;
const maxLabelLength = 63;
/* RFC 5280 §4.2.1.6: the preferred name syntax, in which there is no underscore. */
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const dnsGrammar = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label})+$`);

/** True if a text is a host name of two labels or more, perhaps with `*` as the first. */
export function isDnsName(name: string): boolean {
  return (
    name.length <= maxNameLength &&
    dnsGrammar.test(name) &&
    name.split('.').every((part) => part.length <= maxLabelLength)
  );
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
