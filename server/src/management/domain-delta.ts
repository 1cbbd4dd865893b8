import type {
  AssertionRecord,
  DomainContent,
  GroupRecord,
  MemberRecord,
  PolicyRecord,
  RoleRecord,
  ServiceRecord,
} from '../model/records.ts';
import {
  type DomainDiff,
  diffLists,
  type ListDiff,
  type MembersDiff,
  plainAssertion,
  policyKey,
} from '../store/diff-domains.ts';

/** What a change makes of a domain, without what it leaves as it is: as large as the change, however large the domain. */
export interface DomainDelta {
  readonly fields: Omit<DomainContent, 'roles' | 'groups' | 'policies' | 'services'>;
  readonly removedRoles: readonly string[];
  readonly roles: readonly ListDelta<RoleRecord>[];
  readonly removedGroups: readonly string[];
  readonly groups: readonly ListDelta<GroupRecord>[];
  /** By `policyKey`. */
  readonly removedPolicies: readonly string[];
  readonly policies: readonly PolicyDelta[];
  readonly removedServices: readonly string[];
  readonly services: readonly ServiceRecord[];
}

/** A role or group that is new or differs. */
interface ListDelta<Item> {
  /** Without members. */
  readonly item: Item;
  readonly removed: readonly string[];
  readonly written: readonly MemberRecord[];
}

/** A version of a policy that is new or differs. */
interface PolicyDelta {
  /** Without assertions. */
  readonly policy: PolicyRecord;
  readonly removed: readonly AssertionRecord[];
  readonly added: readonly AssertionRecord[];
}

/** What makes `after` of the domain that `diff` was found for. Pure. */
export function deltaOf(after: DomainContent, diff: DomainDiff): DomainDelta {
  const { roles: _, groups: __, policies: ___, services: ____, ...fields } = after;
  return {
    fields,
    removedRoles: namesOf(diff.removedRoles),
    roles: diff.roles.map(listDelta),
    removedGroups: namesOf(diff.removedGroups),
    groups: diff.groups.map(listDelta),
    removedPolicies: diff.policies.removed.map(policyKey),
    policies: policyDeltas(diff.policies),
    removedServices: namesOf(diff.services.removed),
    services: written(diff.services),
  };
}

function listDelta<Item extends RoleRecord | GroupRecord>({ after, members }: MembersDiff<Item>): ListDelta<Item> {
  return { item: { ...after, members: [] }, removed: namesOf(members.removed), written: written(members) };
}

function policyDeltas({ added, changed }: ListDiff<PolicyRecord>): PolicyDelta[] {
  const delta = (policy: PolicyRecord, before: readonly AssertionRecord[]): PolicyDelta => {
    const assertions = diffLists(before, policy.assertions, assertionKey);
    return { policy: { ...policy, assertions: [] }, removed: assertions.removed, added: assertions.added };
  };
  return [
    ...added.map((policy) => delta(policy, [])),
    ...changed.map(({ before, after }) => delta(after, before.assertions)),
  ];
}

function assertionKey(assertion: AssertionRecord): string {
  return JSON.stringify(plainAssertion(assertion));
}

function written<Item>({ added, changed }: ListDiff<Item>): readonly Item[] {
  return [...added, ...changed.map(({ after }) => after)];
}

function namesOf(items: readonly { readonly name: string }[]): string[] {
  return items.map(({ name }) => name);
}

/** The domain after the change; assertions that are the same twice may be there once. Pure. */
export function applyDelta(before: DomainContent, delta: DomainDelta): DomainContent {
  return {
    ...delta.fields,
    roles: changedLists(before.roles, delta.removedRoles, delta.roles),
    groups: changedLists(before.groups, delta.removedGroups, delta.groups),
    policies: changedPolicies(before.policies, delta),
    services: replaced(before.services, delta.removedServices, delta.services, ({ name }) => name),
  };
}

function changedLists<Item extends RoleRecord | GroupRecord>(
  before: readonly Item[],
  removed: readonly string[],
  deltas: readonly ListDelta<Item>[],
): Item[] {
  const known = new Map<string, Item>(before.map((item) => [item.name, item]));
  const items = deltas.map((delta) => {
    const members = known.get(delta.item.name)?.members ?? [];
    return { ...delta.item, members: replaced(members, delta.removed, delta.written, ({ name }) => name) };
  });
  return replaced(before, removed, items, ({ name }) => name);
}

function changedPolicies(before: readonly PolicyRecord[], { removedPolicies, policies }: DomainDelta): PolicyRecord[] {
  const known = new Map(before.map((policy) => [policyKey(policy), policy]));
  const changed = policies.map(({ policy, removed, added }) => {
    const gone = new Set(removed.map(assertionKey));
    const kept =
      known.get(policyKey(policy))?.assertions.filter((assertion) => !gone.has(assertionKey(assertion))) ?? [];
    return { ...policy, assertions: [...kept, ...added] };
  });
  return replaced(before, removedPolicies, changed, policyKey);
}

function replaced<Item>(
  before: readonly Item[],
  removed: readonly string[],
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Item[] {
  const gone = new Set([...removed, ...items.map(keyOf)]);
  return [...before.filter((item) => !gone.has(keyOf(item))), ...items];
}
