import {
  changesList,
  type DomainChange,
  isEmptyDiff,
  type ListDiff,
  type MemberListChange,
  noDiff,
} from '../model/domain-change.ts';
import { isEqual } from '../model/equal.ts';
import { fieldsOf, isSame } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type {
  AssertionRecord,
  DomainContent,
  DomainFields,
  DomainRecord,
  GroupFields,
  MemberRecord,
  PolicyRecord,
  RoleFields,
  ServiceKeyRecord,
  ServiceRecord,
  StoredAssertion,
  StoredPolicy,
} from '../model/records.ts';
import { runAtOnce, type Steps, sliceLength } from '../steps/steps.ts';

/** Exactly what differs between a domain (or none) and what it shall be, with everybody in it. Pure. */
export function diffDomains(before: DomainRecord | undefined, after: DomainContent): DomainChange {
  return runAtOnce(diffInSteps(before, after));
}

/** The same in slices. */
export function* diffInSteps(before: DomainRecord | undefined, after: DomainContent): Steps<DomainChange> {
  const roles = yield* diffMemberLists<RoleFields>(before?.roles ?? [], after.roles);
  const groups = yield* diffMemberLists<GroupFields>(before?.groups ?? [], after.groups);
  const policies = yield* diffPoliciesInSteps(before?.policies ?? [], after.policies);
  const services = diffServices(before?.services ?? [], after.services);
  return {
    name: after.name,
    before: before && attributesOf(before),
    after: attributesOf(after),
    roles,
    groups,
    policies,
    services,
  };
}

function attributesOf<Fields extends DomainFields>({
  roles: _,
  groups: __,
  policies: ___,
  services: ____,
  ...fields
}: Fields & Pick<DomainContent, 'roles' | 'groups' | 'policies' | 'services'>) {
  return fields;
}

/** Difference between the stored versions of policies and the desired ones. */
export function* diffPoliciesInSteps(
  before: readonly StoredPolicy[],
  after: readonly PolicyRecord[],
): Steps<DomainChange['policies']> {
  return yield* diffListsInSteps<PolicyRecord, StoredPolicy>(before, after, policyKey, isSamePolicy);
}

function diffServices(before: readonly ServiceRecord[], after: readonly ServiceRecord[]): ListDiff<ServiceRecord> {
  return diffLists(before, after.map(sortedService), ({ name }) => name);
}

export function diffLists<Item, Stored extends Item = Item>(
  before: readonly Stored[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
): ListDiff<Item, Stored> {
  return runAtOnce(diffListsInSteps(before, after, keyOf));
}

type IsSame<Item> = (one: Item, other: Item) => Steps<boolean>;

// biome-ignore lint/correctness/useYield: nothing in it takes long
function* isEqualAtOnce<Item>(one: Item, other: Item): Steps<boolean> {
  return isEqual(one, other);
}

function* diffListsInSteps<Item, Stored extends Item = Item>(
  before: readonly Stored[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
  isSame: IsSame<Item> = isEqualAtOnce,
): Steps<ListDiff<Item, Stored>> {
  const old = new Map(before.map((item) => [keyOf(item), item]));
  const wanted = new Set(after.map(keyOf));
  yield;
  const added: Item[] = [];
  const changed: { before: Stored; after: Item }[] = [];
  for (const [index, item] of after.entries()) {
    if (index % sliceLength === 0) yield;
    const previous = old.get(keyOf(item));
    if (previous === undefined) added.push(item);
    else if (previous !== item && !(yield* isSame(previous, item))) changed.push({ before: previous, after: item });
  }
  return { removed: before.filter((item) => !wanted.has(keyOf(item))), added, changed };
}

export function policyKey(policy: PolicyRecord): string {
  return JSON.stringify([policy.name, policy.version]);
}

function* diffMemberLists<List extends RoleFields | GroupFields>(
  before: readonly Listed<List>[],
  after: readonly Listed<List>[],
): Steps<MemberListChange<List>[]> {
  const old = new Map<string, Listed<List>>(before.map((list) => [list.name, list]));
  const wanted = new Set<string>(after.map(({ name }) => name));
  const gone = before.filter(({ name }) => !wanted.has(name));
  const changes = gone.map((list): MemberListChange<List> => {
    return { before: fieldsAlone(list), after: undefined, members: { ...noDiff, removed: list.members } };
  });
  for (const list of after) {
    const previous = old.get(list.name);
    if (previous === list) continue;
    const members = yield* diffMembersInSteps(previous?.members ?? [], list.members);
    const change = { before: previous && fieldsAlone(previous), after: fieldsAlone(list), members };
    if (changesList(change) || !isEmptyDiff(members)) changes.push(change);
  }
  return changes;
}

type Listed<List> = List & { readonly members: readonly MemberRecord[] };

function fieldsAlone<List extends RoleFields | GroupFields>({ members: _, ...fields }: Listed<List>): List {
  return fields as unknown as List;
}

/** Difference between two lists of members. */
export function diffMembersInSteps(
  before: readonly MemberRecord[],
  after: readonly MemberRecord[],
): Steps<ListDiff<MemberRecord>> {
  return diffListsInSteps(before, after, ({ name }) => name);
}

/** True if two policies are equal. Most changes leave most of the assertions as the same objects. */
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

/** True if bundles of the domain differ after the change: policies were added, removed, or differ in more than their descriptions. */
export function* changesBundleInSteps({ removed, added, changed }: ListDiff<PolicyRecord>): Steps<boolean> {
  if (removed.length + added.length > 0) return true;
  for (const { before, after } of changed) if (!(yield* isSameInBundle(before, after))) return true;
  return false;
}

/** True if bundles carry the same for both, but for the time of the change. */
export function isSameInBundle(one: PolicyRecord, other: PolicyRecord): Steps<boolean> {
  const undescribed = ({ description: _, ...policy }: PolicyRecord): PolicyRecord => policy;
  return isSamePolicy(undescribed(one), undescribed(other));
}

/** True if two assertions are equal. */
export function isSameAssertion(one: AssertionRecord, other: AssertionRecord | undefined): boolean {
  if (one === other) return true;
  return (
    one.effect === other?.effect &&
    one.role === other.role &&
    one.action === other.action &&
    one.resource === other.resource &&
    one.caseSensitive === other.caseSensitive &&
    isEqual(one.conditions, other.conditions)
  );
}

function sortedService(service: ServiceRecord): ServiceRecord {
  const byId = (a: ServiceKeyRecord, b: ServiceKeyRecord) => (a.id < b.id ? -1 : 1);
  return { ...service, publicKeys: [...service.publicKeys].sort(byId) };
}

/** Policy without the members that the store adds. */
export function plainPolicy(policy: PolicyRecord): PolicyRecord {
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
