import { type DomainChange, type ListDiff, listName, type MemberListChange, written } from '../model/domain-change.ts';
import type {
  AssertionRecord,
  DomainContent,
  GroupRecord,
  PolicyRecord,
  RoleRecord,
  ServiceRecord,
} from '../model/records.ts';
import { diffLists, plainAssertion, policyKey } from '../store/diff-domains.ts';

/** A change of a domain as plain data for another process: as large as the change, however many assertions its policies have. */
export interface DomainDelta extends Omit<DomainChange, 'before' | 'policies'> {
  /** Keys of removed policies, by `policyKey`. */
  readonly removedPolicies: readonly string[];
  readonly policies: readonly PolicyDelta[];
}

/** A version of a policy that is new or differs. */
interface PolicyDelta {
  /** Policy without assertions. */
  readonly policy: PolicyRecord;
  readonly removed: readonly AssertionRecord[];
  readonly added: readonly AssertionRecord[];
}

export function deltaOf({ before: _, policies, ...change }: DomainChange): DomainDelta {
  return { ...change, removedPolicies: policies.removed.map(policyKey), policies: policyDeltas(policies) };
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

/** The domain after the change; assertions that are the same twice may be there once. Pure. */
export function applyDelta(before: DomainContent, delta: DomainDelta): DomainContent {
  return {
    ...delta.after,
    roles: changedLists<RoleRecord>(before.roles, delta.roles),
    groups: changedLists<GroupRecord>(before.groups, delta.groups),
    policies: changedPolicies(before.policies, delta),
    services: changed<ServiceRecord>(before.services, delta.services, ({ name }) => name),
  };
}

function changedLists<List extends RoleRecord | GroupRecord>(
  before: readonly List[],
  changes: readonly MemberListChange[],
): List[] {
  const known = new Map<string, List>(before.map((list) => [list.name, list]));
  const lists = changes.flatMap(({ after, members }) => {
    if (after === undefined) return [];
    const old = known.get(after.name)?.members ?? [];
    return [{ ...after, members: changed(old, members, ({ name }) => name) } as unknown as List];
  });
  return replaced(
    before,
    changes.map((change) => listName(change)),
    lists,
    ({ name }) => name,
  );
}

function changedPolicies(before: readonly PolicyRecord[], { removedPolicies, policies }: DomainDelta): PolicyRecord[] {
  const known = new Map(before.map((policy) => [policyKey(policy), policy]));
  const fresh = policies.map(({ policy, removed, added }) => {
    const gone = new Set(removed.map(assertionKey));
    const assertions = known.get(policyKey(policy))?.assertions ?? [];
    return { ...policy, assertions: [...assertions.filter((one) => !gone.has(assertionKey(one))), ...added] };
  });
  return replaced(before, removedPolicies, fresh, policyKey);
}

function changed<Item>(before: readonly Item[], diff: ListDiff<Item>, keyOf: (item: Item) => string): Item[] {
  return replaced(before, diff.removed.map(keyOf), written(diff), keyOf);
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
