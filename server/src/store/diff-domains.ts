import { isDeepStrictEqual } from 'node:util';
import { fieldsOf, isSame } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type {
  AssertionRecord,
  DomainContent,
  DomainPart,
  DomainRecord,
  GroupRecord,
  MemberRecord,
  PolicyRecord,
  RoleRecord,
  ServiceKeyRecord,
  ServiceRecord,
  StoredAssertion,
} from '../model/records.ts';
import { runAtOnce, type Steps, sliceLength } from '../steps/steps.ts';

/** What has to go and what has to be written for one list of named things. A changed thing is in `changed`, with both sides. */
export interface ListDiff<Item> {
  readonly removed: readonly Item[];
  readonly added: readonly Item[];
  readonly changed: readonly { readonly before: Item; readonly after: Item }[];
}

/** A role or group that stays, with what differs in it. */
export interface MembersDiff<Item> {
  readonly before: Item | undefined;
  readonly after: Item;
  /** Whether anything but the members differs. */
  readonly fields: boolean;
  readonly members: ListDiff<MemberRecord>;
}

export interface DomainDiff {
  readonly fields: boolean;
  readonly removedRoles: readonly RoleRecord[];
  readonly roles: readonly MembersDiff<RoleRecord>[];
  readonly removedGroups: readonly GroupRecord[];
  readonly groups: readonly MembersDiff<GroupRecord>[];
  readonly policies: ListDiff<PolicyRecord>;
  readonly services: ListDiff<ServiceRecord>;
  readonly empty: boolean;
}

/** Exactly what differs between a stored domain (or none) and what it shall be. Pure. */
export function diffDomains(before: DomainRecord | undefined, after: DomainContent): DomainDiff {
  return runAtOnce(diffInSteps(before, after));
}

/** The same in slices. */
export function* diffInSteps(before: DomainRecord | undefined, after: DomainContent): Steps<DomainDiff> {
  const fields = before === undefined || !isDeepStrictEqual(ownOf(before), ownOf(after));
  const roles = yield* diffMemberLists(before?.roles ?? [], after.roles);
  const groups = yield* diffMemberLists(before?.groups ?? [], after.groups);
  const [oldPolicies, newPolicies] = withoutSame<PolicyRecord>(before?.policies ?? [], after.policies);
  const policies = yield* plainDiff(yield* diffPolicies(oldPolicies, newPolicies));
  const [oldServices, newServices] = withoutSame(before?.services ?? [], after.services);
  const services = diffLists(oldServices, newServices.map(sortedService), (service) => service.name);
  const empty =
    !fields &&
    roles.removed.length + roles.kept.length + groups.removed.length + groups.kept.length === 0 &&
    isEmptyDiff(policies) &&
    isEmptyDiff(services);
  return {
    fields,
    removedRoles: roles.removed,
    roles: roles.kept,
    removedGroups: groups.removed,
    groups: groups.kept,
    policies,
    services,
    empty,
  };
}

/** Both sides without the objects that are the very same: most changes leave most of a domain as it was read. */
function withoutSame<Item>(before: readonly Item[], after: readonly Item[]): [readonly Item[], readonly Item[]] {
  const [old, fresh] = [new Set(before), new Set(after)];
  return [before.filter((item) => !fresh.has(item)), after.filter((item) => !old.has(item))];
}

export function diffLists<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
): ListDiff<Item> {
  return runAtOnce(diffListsInSteps(before, after, keyOf));
}

type IsSame<Item> = (one: Item, other: Item) => Steps<boolean>;

// biome-ignore lint/correctness/useYield: nothing in it takes long
function* isEqual<Item>(one: Item, other: Item): Steps<boolean> {
  return isDeepStrictEqual(one, other);
}

function* diffListsInSteps<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
  isSame: IsSame<Item> = isEqual,
): Steps<ListDiff<Item>> {
  const old = new Map(before.map((item) => [keyOf(item), item]));
  const wanted = new Set(after.map(keyOf));
  yield;
  const added: Item[] = [];
  const changed: { before: Item; after: Item }[] = [];
  for (const [index, item] of after.entries()) {
    if (index % sliceLength === 0) yield;
    const previous = old.get(keyOf(item));
    if (previous === undefined) added.push(item);
    else if (previous !== item && !(yield* isSame(previous, item))) changed.push({ before: previous, after: item });
  }
  return { removed: before.filter((item) => !wanted.has(keyOf(item))), added, changed };
}

export function isEmptyDiff(diff: ListDiff<unknown>): boolean {
  return diff.removed.length + diff.added.length + diff.changed.length === 0;
}

export function policyKey(policy: PolicyRecord): string {
  return JSON.stringify([policy.name, policy.version]);
}

/** What a domain says of itself, beside its name and what it has. */
export function ownOf({ limits, quotas, accounts, ...domain }: DomainContent) {
  const parts = { limits, quotas, accounts };
  parts satisfies Record<Exclude<DomainPart, 'roles' | 'groups' | 'policies' | 'services'>, unknown>;
  return { ...fieldsOf(recordFields.domain, domain), ...parts };
}

function* diffMemberLists<Item extends { readonly name: string; readonly members: readonly MemberRecord[] }>(
  before: readonly Item[],
  after: readonly Item[],
): Steps<{ readonly removed: readonly Item[]; readonly kept: readonly MembersDiff<Item>[] }> {
  const old = new Map(before.map((item) => [item.name, item]));
  const wanted = new Set(after.map((item) => item.name));
  const kept: MembersDiff<Item>[] = [];
  for (const item of after) {
    const previous = old.get(item.name);
    if (previous === item) continue;
    const fields = previous === undefined || !isDeepStrictEqual({ ...previous, members: [] }, { ...item, members: [] });
    const members = yield* diffListsInSteps(previous?.members ?? [], item.members, (member) => member.name);
    if (fields || !isEmptyDiff(members)) kept.push({ before: previous, after: item, fields, members });
  }
  return { removed: before.filter((item) => !wanted.has(item.name)), kept };
}

function diffPolicies(before: readonly PolicyRecord[], after: readonly PolicyRecord[]): Steps<ListDiff<PolicyRecord>> {
  return diffListsInSteps(before, after, policyKey, isSamePolicy);
}

/** Most changes of a policy leave most of its rules as they were read. */
function* isSamePolicy(one: PolicyRecord, other: PolicyRecord): Steps<boolean> {
  const { length } = one.assertions;
  if (one.active !== other.active || length !== other.assertions.length || !isSame(recordFields.policy, one, other))
    return false;
  for (const [index, assertion] of one.assertions.entries()) {
    if (index % sliceLength === 0) yield;
    if (!isSameAssertion(assertion, other.assertions[index])) return false;
  }
  return true;
}

/**
 * Whether bundles of the domain carry something else after the change: policies came, went, or differ in more than what they are described
 * with.
 */
export function* changesBundleInSteps({ removed, added, changed }: ListDiff<PolicyRecord>): Steps<boolean> {
  if (removed.length + added.length > 0) return true;
  for (const { before, after } of changed) if (!(yield* isSameInBundle(before, after))) return true;
  return false;
}

/** Whether bundles carry the same for both, but for the time of the change. */
export function isSameInBundle(one: PolicyRecord, other: PolicyRecord): Steps<boolean> {
  const undescribed = ({ description: _, ...policy }: PolicyRecord): PolicyRecord => policy;
  return isSamePolicy(undescribed(one), undescribed(other));
}

/** Whether two rules say the same. */
export function isSameAssertion(one: AssertionRecord, other: AssertionRecord | undefined): boolean {
  if (one === other) return true;
  return (
    one.effect === other?.effect &&
    one.role === other.role &&
    one.action === other.action &&
    one.resource === other.resource &&
    one.caseSensitive === other.caseSensitive &&
    isDeepStrictEqual(one.conditions, other.conditions)
  );
}

function* plainDiff({ removed, added, changed }: ListDiff<PolicyRecord>): Steps<ListDiff<PolicyRecord>> {
  const plain: {
    removed: PolicyRecord[];
    added: PolicyRecord[];
    changed: ListDiff<PolicyRecord>['changed'][number][];
  } = { removed: [], added: [], changed: [] };
  for (const policy of removed) {
    plain.removed.push(plainPolicy(policy));
    yield;
  }
  for (const policy of added) {
    plain.added.push(plainPolicy(policy));
    yield;
  }
  for (const { before, after } of changed) {
    const was = plainPolicy(before);
    yield;
    plain.changed.push({ before: was, after: plainPolicy(after) });
    yield;
  }
  return plain;
}

function sortedService(service: ServiceRecord): ServiceRecord {
  const byId = (a: ServiceKeyRecord, b: ServiceKeyRecord) => (a.id < b.id ? -1 : 1);
  return { ...service, publicKeys: [...service.publicKeys].sort(byId) };
}

/** Without what the store adds by itself. */
function plainPolicy(policy: PolicyRecord): PolicyRecord {
  return {
    name: policy.name,
    version: policy.version,
    active: policy.active,
    ...fieldsOf(recordFields.policy, policy),
    assertions: policy.assertions.map(plainAssertion),
  };
}

export function plainAssertion(assertion: AssertionRecord | StoredAssertion): AssertionRecord {
  return {
    effect: assertion.effect,
    role: assertion.role,
    action: assertion.action,
    resource: assertion.resource,
    caseSensitive: assertion.caseSensitive,
    ...(assertion.conditions !== undefined && { conditions: assertion.conditions }),
  };
}
