import {
  parseDomainName,
  parseGroupName,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import type { Effect, WireConditions } from '@signet/policy-engine/wire';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { DomainRecord, MemberRecord } from '@signet/server/model/records';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { Snapshot } from '@signet/server/snapshot/snapshot';

/**
 * `[effect, role, action, resource, conditions]`; a resource without a colon belongs to the domain itself. Conditions: sets of a key to
 * the values that it equals, or to an operator with its values.
 */
export type PlainRule = readonly [
  effect: Effect,
  role: string,
  action: string,
  resource: string,
  conditions?: readonly PlainConditions[] | undefined,
];

export type PlainConditions = Readonly<Record<string, string | { readonly operator: string; readonly value: string }>>;

/** A domain as data that a generator can make. */
export interface PlainDomain {
  readonly name: string;
  readonly enabled?: boolean;
  readonly roles?: Readonly<Record<string, readonly MemberRecord[]>>;
  /** Roles to the domain that they trust. */
  readonly trusts?: Readonly<Record<string, string>>;
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  readonly rules?: readonly PlainRule[];
  readonly services?: readonly string[];
  /** Beside the enabled ones. */
  readonly servicesOff?: readonly string[];
}

function wireConditions(sets: readonly PlainConditions[]): WireConditions {
  return {
    conditionsList: sets.map((set) => ({
      conditionsMap: Object.fromEntries(
        Object.entries(set).map(([key, value]) => [
          key,
          typeof value === 'string' ? { operator: 'EQUALS', value } : value,
        ]),
      ),
    })),
  };
}

/** The record of a store for it, with version 1. */
export function plainRecord(plain: PlainDomain, now: number): DomainRecord {
  const name = parseDomainName(plain.name);
  const assertions = (plain.rules ?? []).map(([effect, role, action, resource, conditions], index) => ({
    id: index + 1,
    effect,
    role: `${name}:role.${role}`,
    action,
    resource: resource.includes(':') ? resource : `${name}:${resource}`,
    caseSensitive: false,
    ...(conditions !== undefined && { conditions: wireConditions(conditions) }),
  }));
  const policy = { version: '0', active: true, caseSensitive: false, modified: now, assertions };
  return {
    ...emptyDomain(name),
    enabled: plain.enabled ?? true,
    policyVersion: 1,
    policyModified: now,
    roles: [
      ...Object.entries(plain.roles ?? {}).map(([role, members]) => ({ name: parseRoleName(role), members })),
      ...Object.entries(plain.trusts ?? {}).map(([role, trust]) => ({
        name: parseRoleName(role),
        trust: parseDomainName(trust),
        members: [],
      })),
    ],
    groups: Object.entries(plain.groups ?? {}).map(([group, members]) => ({
      name: parseGroupName(group),
      members: members.map((member) => ({ name: member, disabled: false })),
    })),
    policies: assertions.length === 0 ? [] : [{ name: parsePolicyName('rules'), ...policy }],
    services: [
      ...(plain.services ?? []).map((service) => ({ service, enabled: true })),
      ...(plain.servicesOff ?? []).map((service) => ({ service, enabled: false })),
    ].map(({ service, enabled }) => ({ name: parseServiceName(service), enabled, hosts: [], publicKeys: [] })),
  };
}

/** A snapshot of nothing but these domains. Throws when one cannot be compiled. */
export function plainSnapshot(domains: readonly PlainDomain[], now: number): Snapshot {
  const { snapshot, problems } = compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: domains.map((domain) => plainRecord(domain, now)),
    deleted: [],
    signingKeys: [],
    isPart: true,
  });
  const [problem] = problems;
  if (problem !== undefined) throw problem.error;
  return snapshot;
}
