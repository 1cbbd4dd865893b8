import type { DomainChange } from '../model/domain-change.ts';

/* RFC 5280 §4.2.1.6: the preferred name syntax, in which there is no underscore. */
const label = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/** Warning for a service without a DNS name of its own, since none of such a name is certified; undefined for others. */
export function withoutDnsName(domain: string, service: string): string | undefined {
  if (`${service}.${domain}`.split('.').every((part) => label.test(part))) return undefined;
  return `service \`${domain}.${service}\` gets no DNS name of its own in certificates: a label has letters, digits and \`-\` inside`;
}

/** The same of the services that a change makes. */
export function dnsWarnings({ name, services }: DomainChange): string[] {
  return services.added.flatMap((service) => withoutDnsName(name, service.name) ?? []);
}
