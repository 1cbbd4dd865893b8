import { formatTimestamp } from '@signet/policy-engine/clock';
import { type DomainName, foldAscii, fullRoleName, type RoleName, type ServiceName } from '@signet/policy-engine/names';
import { compileInSteps, type DomainPolicy, type PolicyInput } from '@signet/policy-engine/policy';
import type { WirePolicy } from '@signet/policy-engine/wire';
import type {
  DomainAttributes,
  RoleFields,
  RoleRecord,
  ServiceRecord,
  StoredAssertion,
  StoredPolicy,
} from '../model/records.ts';
import type { DomainGrants, DomainModel } from '../model/snapshot-source.ts';
import type { Steps } from '../steps/steps.ts';
import type { DomainSnapshot, RoleSnapshot, ServiceSnapshot } from './snapshot.ts';

type WireAssertion = WirePolicy['assertions'][number];

/** Shared empty map: most domains delegate nothing. */
const none: ReadonlyMap<never, never> = new Map<never, never>();

type CompiledGrants = Pick<DomainSnapshot, 'services' | 'policies' | 'policy' | 'foreignPolicy'>;

/** Compiles a stored domain with its grants. Pure. */
export function compileDomain(model: DomainModel, grants: CompiledGrants): DomainSnapshot {
  const assumable = assumableRoles(model, grants.policies);
  return {
    name: model.name,
    policyVersion: model.policyVersion,
    policyModified: model.policyModified,
    roles: new Map(model.roles.map((role) => [role.name, roleSnapshot(role)])),
    ...(model.dnsForm !== undefined && { dnsForm: model.dnsForm }),
    credentialsFrom: model.credentialsFrom ?? 0,
    services: grants.services,
    policies: grants.policies,
    policy: grants.policy,
    ...(grants.foreignPolicy !== undefined && { foreignPolicy: grants.foreignPolicy }),
    ...(model.bundleReaders !== undefined && { bundleReaders: model.bundleReaders }),
    ...(model.approvals !== undefined && { approvals: model.approvals }),
    limits: model.limits,
    accounts: model.accounts,
    assumable,
    assumers: assumingRoles(model, assumable),
    trusting: trustingRoles(model),
  };
}

/** A domain as far as it grants something. */
type Granting = DomainGrants & Pick<DomainAttributes, 'name' | 'policyVersion'>;

/**
 * Compiles the grants of a stored domain; the counts of the `last` one go on. Pure. Throws `PolicyEngineError('bundle-malformed')` when its
 * policies cannot be used as a whole.
 */
export function* compileGrantsInSteps(record: Granting, epoch: number, last?: DomainSnapshot): Steps<CompiledGrants> {
  const policies = record.policies.map((policy) => wirePolicy(record, policy));
  // The very assertions that bundles carry: kept once.
  const active = record.policies.flatMap(({ name, active }, index) =>
    active ? [{ name, assertions: policies[index]?.assertions ?? [] }] : [],
  );
  const foreignPolicy = yield* compileForeign(record, active, last);
  const revision = { epoch, version: record.policyVersion };
  return {
    services: yield* serviceSnapshots(record),
    policies,
    // Exactly what a bundle of this domain compiles to on a provider host, assertions about other domains included: they never match.
    policy: yield* compileInSteps(record.name, active, { revision, ...overrunsOf(last?.policy) }),
    ...(foreignPolicy !== undefined && { foreignPolicy }),
  };
}

function roleSnapshot(role: RoleFields & Partial<RoleRecord>): RoleSnapshot {
  if (role.description === undefined && role.members === undefined) return role;
  const { description: _, members: __, ...rest } = role;
  return rest;
}

function* serviceSnapshots(record: DomainGrants): Steps<Map<ServiceName, ServiceSnapshot>> {
  const services = new Map<ServiceName, ServiceSnapshot>();
  for (const service of record.services) {
    services.set(service.name, serviceSnapshot(service, record.servicesFrom?.get(service.name) ?? 0));
    yield;
  }
  return services;
}

function serviceSnapshot({ description: _, ...service }: ServiceRecord, credentialsFrom: number): ServiceSnapshot {
  return { ...service, publicKeys: new Map(service.publicKeys.map(({ id, pem }) => [id, pem])), credentialsFrom };
}

function wirePolicy(domain: Pick<Granting, 'name'>, policy: StoredPolicy): WirePolicy {
  return {
    name: `${domain.name}:policy.${policy.name}`,
    modified: formatTimestamp(policy.modified),
    version: policy.version,
    active: policy.active,
    ...(policy.caseSensitive && { caseSensitive: true }),
    assertions: policy.assertions.map(wireAssertion),
  };
}

function wireAssertion(stored: StoredAssertion): WireAssertion {
  const { id, role, resource, action, effect, caseSensitive, conditions } = stored;
  // Fast path: nearly all of them are so, and there may be hundreds of thousands.
  if (!caseSensitive && conditions === undefined) return { id, role, resource, action, effect };
  return {
    id,
    role,
    resource,
    action,
    effect,
    ...(caseSensitive && { caseSensitive }),
    ...(conditions !== undefined && { conditions }),
  };
}

/** True if the assertion is about resources of another domain: only `assume_role` checks with a trust domain read those. */
function isForeign({ name }: Pick<Granting, 'name'>, { resource }: WireAssertion): boolean {
  const colon = resource.indexOf(':');
  // Fast path: nearly all are written so.
  if (colon === name.length && resource.startsWith(name)) return false;
  return colon >= 0 && foldAscii(resource.slice(0, colon)) !== name;
}

/** Counter that is kept over changes of policy, so that a change hides nothing. */
function overrunsOf(policy: DomainPolicy | undefined): Pick<DomainPolicy, 'overruns'> | undefined {
  return policy && { overruns: policy.overruns };
}

function* compileForeign(
  record: Granting,
  active: readonly PolicyInput[],
  last?: DomainSnapshot,
): Steps<DomainPolicy | undefined> {
  const foreign = active
    .map(({ name, assertions }) => ({
      name,
      assertions: assertions.filter((assertion) => isForeign(record, assertion)),
    }))
    .filter(({ assertions }) => assertions.length > 0);
  return foreign.length === 0
    ? undefined
    : yield* compileInSteps(record.name, foreign, { qualified: true, ...overrunsOf(last?.foreignPolicy) });
}

/** Active `assume_role` assertions that are not DENY and whose role is exactly a role of the domain (facts of role look-up, step 2). Like every decision of the server without conditions. */
function assumableRoles(
  record: DomainModel,
  policies: readonly WirePolicy[],
): ReadonlyMap<RoleName, readonly string[]> {
  const assuming = policies
    .filter(({ active }) => active !== false)
    .flatMap(({ assertions }) => assertions.filter(isAssuming));
  if (assuming.length === 0) return none;
  const byFullName = new Map(record.roles.map((role) => [fullRoleName(record.name, role.name), role.name]));
  const assumable = new Map<RoleName, string[]>();
  for (const { role, resource } of assuming) {
    const holder = byFullName.get(role);
    if (holder === undefined) continue;
    const targets = assumable.get(holder);
    if (targets === undefined) assumable.set(holder, [foldAscii(resource)]);
    else targets.push(foldAscii(resource));
  }
  return assumable;
}

function isAssuming({ effect, action, conditions }: WireAssertion): boolean {
  return effect !== 'DENY' && conditions === undefined && foldAscii(action) === 'assume_role';
}

function assumingRoles(
  { name }: DomainModel,
  assumable: DomainSnapshot['assumable'],
): ReadonlyMap<RoleName, readonly RoleName[]> {
  if (assumable.size === 0) return none;
  const prefix = `${name}:role.`;
  const pairs = [...assumable].flatMap(([holder, targets]) =>
    targets.flatMap((target) => (target.startsWith(prefix) ? [{ role: target.slice(prefix.length), holder }] : [])),
  );
  const byRole = Map.groupBy(pairs, ({ role }) => role as RoleName);
  return new Map([...byRole].map(([role, list]) => [role, list.map(({ holder }) => holder)]));
}

function trustingRoles({ roles }: DomainModel): ReadonlyMap<DomainName, readonly RoleName[]> {
  const delegated = roles.flatMap(({ name, trust }) => (trust === undefined ? [] : [{ name, trust }]));
  if (delegated.length === 0) return none;
  const byDomain = Map.groupBy(delegated, ({ trust }) => trust);
  return new Map([...byDomain].map(([trust, list]) => [trust, list.map(({ name }) => name)]));
}
