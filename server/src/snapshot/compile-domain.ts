import { createPublicKey, type KeyObject } from 'node:crypto';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { foldAscii, fullRoleName, type KeyId, type RoleName, type ServiceName } from '@signet/policy-engine/names';
import { compileInSteps, type DomainPolicy } from '@signet/policy-engine/policy';
import type { WirePolicy } from '@signet/policy-engine/wire';
import type {
  AssertionRecord,
  DomainContent,
  DomainRecord,
  RoleRecord,
  ServiceRecord,
  StoredPolicy,
} from '../store/records.ts';
import { MemberList } from './member-list.ts';
import { indexInSteps, patchIndexInSteps } from './membership-index.ts';
import type { RoleSnapshot } from './role-snapshot.ts';
import type { DomainSnapshot, ServiceSnapshot } from './snapshot.ts';
import type { Steps } from './steps.ts';

/** What a changed domain was before, when only a part of it was read again. */
export interface DomainBase {
  readonly previous: DomainSnapshot;
  /** Those of these names were. */
  readonly names: readonly string[];
  /** Policies and services were not. */
  readonly sameRules: boolean;
}

/**
 * One stored domain, compiled. With a base, `record` has what was read again, and the rest is taken from the base. `before` is the
 * domain as it was, whose counts go on.
 * Pure. Throws `PolicyEngineError('bundle-malformed')` when its policies cannot be used as a whole.
 */
export function* compileDomainInSteps(
  record: DomainRecord,
  epoch: number,
  base?: DomainBase,
  before?: DomainSnapshot,
): Steps<DomainSnapshot> {
  const read = record.roles.map(roleSnapshot);
  const roles = base === undefined ? read : read.map((role) => withOtherMembers(role, base));
  const rules = base?.sameRules === true ? rulesOf(base.previous) : yield* compileRules(record, epoch, before);
  const listed = {
    roles: read,
    groups: new Map(record.groups.map((group) => [`${record.name}:group.${group.name}`, group.members])),
    assumable: assumableRoles(record, rules.policies),
  };
  return {
    name: record.name,
    policyVersion: record.policyVersion,
    policyModified: record.policyModified,
    roles: new Map(roles.map((role) => [role.name, role])),
    ...(record.dnsForm === undefined ? {} : { dnsForm: record.dnsForm }),
    credentialsFrom: record.credentialsFrom ?? 0,
    ...rules,
    limits: record.limits,
    ...(record.awsAccount === undefined ? {} : { awsAccount: record.awsAccount }),
    membership:
      base === undefined
        ? yield* indexInSteps(listed)
        : yield* patchIndexInSteps(base.previous.membership, listed, base.names),
  };
}

type Rules = Pick<DomainSnapshot, 'services' | 'policies' | 'policy' | 'foreignPolicy'>;

function* compileRules(record: DomainRecord, epoch: number, before?: DomainSnapshot): Steps<Rules> {
  const foreignPolicy = yield* compileForeign(record, before);
  return {
    services: yield* serviceSnapshots(record),
    policies: record.policies.map((policy) => wirePolicy(record, policy)),
    policy: yield* compileOwn(record, epoch, before),
    ...(foreignPolicy === undefined ? {} : { foreignPolicy }),
  };
}

function rulesOf({ services, policies, policy, foreignPolicy }: DomainSnapshot): Rules {
  return { services, policies, policy, ...(foreignPolicy === undefined ? {} : { foreignPolicy }) };
}

function withOtherMembers(role: RoleSnapshot, { previous, names }: DomainBase): RoleSnapshot {
  const known = MemberList.of(previous.roles.get(role.name)?.members ?? []);
  return { ...role, members: known.with(names, role.members) };
}

function roleSnapshot(role: RoleRecord): RoleSnapshot {
  return {
    name: role.name,
    ...(role.trust === undefined ? {} : { trust: role.trust }),
    members: MemberList.of(role.members),
    ...(role.tokenExpirySeconds === undefined ? {} : { tokenExpirySeconds: role.tokenExpirySeconds }),
    ...(role.certExpirySeconds === undefined ? {} : { certExpirySeconds: role.certExpirySeconds }),
  };
}

function* serviceSnapshots(record: DomainRecord): Steps<Map<ServiceName, ServiceSnapshot>> {
  const services = new Map<ServiceName, ServiceSnapshot>();
  for (const service of record.services) {
    services.set(service.name, serviceSnapshot(service, record.servicesFrom?.get(service.name) ?? 0));
    yield;
  }
  return services;
}

function serviceSnapshot(service: ServiceRecord, credentialsFrom: number): ServiceSnapshot {
  const publicKeys = new Map<KeyId, KeyObject>();
  for (const key of service.publicKeys) publicKeys.set(key.id, createPublicKey(key.pem));
  return {
    name: service.name,
    enabled: service.enabled,
    publicKeys,
    ...(service.providerEndpoint === undefined ? {} : { providerEndpoint: service.providerEndpoint }),
    hosts: service.hosts,
    credentialsFrom,
  };
}

function wirePolicy(domain: DomainContent, policy: StoredPolicy): WirePolicy {
  return {
    name: `${domain.name}:policy.${policy.name}`,
    modified: formatTimestamp(policy.modified),
    version: policy.version,
    active: policy.active,
    ...(policy.caseSensitive ? { caseSensitive: true } : {}),
    assertions: policy.assertions.map(({ id, role, resource, action, effect, caseSensitive, conditions }) => ({
      id,
      role,
      resource,
      action,
      effect,
      ...(caseSensitive ? { caseSensitive } : {}),
      ...(conditions === undefined ? {} : { conditions }),
    })),
  };
}

/** Whether the rule is about resources of another domain: only `assume_role` checks with a trust domain look at those. */
function isForeign(domain: DomainContent, assertion: AssertionRecord): boolean {
  const colon = assertion.resource.indexOf(':');
  return colon >= 0 && foldAscii(assertion.resource.slice(0, colon)) !== domain.name;
}

/** Exactly what a bundle of this domain compiles to on a provider host, rules about other domains included: they never match. */
function compileOwn(record: DomainRecord, epoch: number, before?: DomainSnapshot): Steps<DomainPolicy> {
  const policies = record.policies.filter((policy) => policy.active);
  const revision = { epoch, version: record.policyVersion };
  return compileInSteps(record.name, policies, { revision, ...overrunsOf(before?.policy) });
}

/** Counting goes on, so that a change of policy hides nothing. */
function overrunsOf(policy: DomainPolicy | undefined): Pick<DomainPolicy, 'overruns'> | undefined {
  return policy && { overruns: policy.overruns };
}

function* compileForeign(record: DomainRecord, before?: DomainSnapshot): Steps<DomainPolicy | undefined> {
  const policies = record.policies.filter((policy) => policy.active);
  const foreign = policies
    .map(({ name, assertions }) => ({ name, assertions: assertions.filter((rule) => isForeign(record, rule)) }))
    .filter(({ assertions }) => assertions.length > 0);
  return foreign.length === 0
    ? undefined
    : yield* compileInSteps(record.name, foreign, { qualified: true, ...overrunsOf(before?.foreignPolicy) });
}

/** Active `assume_role` assertions that are not DENY and whose role is exactly a role of the domain (facts of role look-up, step 2). */
function assumableRoles(
  record: DomainRecord,
  policies: readonly WirePolicy[],
): ReadonlyMap<RoleName, readonly string[]> {
  const byFullName = new Map(record.roles.map((role) => [fullRoleName(record.name, role.name), role.name]));
  const assumable = new Map<RoleName, string[]>();
  for (const policy of policies) {
    if (policy.active === false) continue;
    for (const { effect, action, role, resource } of policy.assertions) {
      const holder = byFullName.get(role);
      if (holder === undefined || effect === 'DENY' || foldAscii(action) !== 'assume_role') continue;
      const targets = assumable.get(holder);
      if (targets === undefined) assumable.set(holder, [foldAscii(resource)]);
      else targets.push(foldAscii(resource));
    }
  }
  return assumable;
}
