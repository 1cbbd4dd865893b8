import type { DomainName } from '@signet/policy-engine/names';
import type { DomainRecord } from '../model/records.ts';
import { isSameState } from '../model/snapshot-source.ts';
import type { DomainPatch, StoreChanges } from '../model/store.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { compileDomainInSteps } from './compile-domain.ts';
import { changeMembersInSteps, compileMembersInSteps } from './compile-members.ts';
import type { DomainMembers } from './domain-members.ts';
import { LayeredMap } from './layered-map.ts';
import type { DomainSnapshot, Snapshot } from './snapshot.ts';

/** A domain that cannot be used; what was known of it before stays in force. */
export interface CompileProblem {
  readonly domain: DomainName;
  readonly error: unknown;
}

export interface CompiledSnapshot {
  readonly snapshot: Snapshot;
  readonly problems: readonly CompileProblem[];
}

/** The snapshot after `changes`, sharing with `known`, the one before them, whatever did not change. Pure. */
export function compileSnapshot(known: Snapshot | undefined, changes: StoreChanges): CompiledSnapshot {
  return runAtOnce(compileInSteps(known, changes));
}

export function* compileInSteps(known: Snapshot | undefined, changes: StoreChanges): Steps<CompiledSnapshot> {
  const previous = previousOf(known, changes);
  const domains = new Map<DomainName, DomainSnapshot | undefined>();
  const members = new Map<DomainName, DomainMembers | undefined>();
  const disabled = new Map<DomainName, boolean>();
  const outdated = new Map<DomainName, boolean>();
  const problems: CompileProblem[] = [];
  for (const name of changes.deleted) {
    domains.set(name, undefined);
    members.set(name, undefined);
    disabled.set(name, false);
    outdated.set(name, false);
  }
  for (const { record, patch } of changedDomains(changes)) {
    disabled.set(record.name, !record.enabled);
    outdated.set(record.name, false);
    if (!record.enabled) {
      domains.set(record.name, undefined);
      members.set(record.name, undefined);
      continue;
    }
    try {
      const base = patch && baseOf(previous, patch);
      const listed = yield* membersAfter(record, base);
      // Whoever left is out also where the rest cannot be used.
      if (previous?.domain(record.name) !== undefined) members.set(record.name, listed);
      const sameRules = base?.sameRules === true ? base.domain : undefined;
      const last = known?.domain(record.name);
      const compiled =
        base?.sameModel === true
          ? base.domain
          : yield* compileDomainInSteps(record, changes.state.epoch, { sameRules, last });
      domains.set(record.name, compiled);
      members.set(record.name, listed);
    } catch (error) {
      problems.push({ domain: record.name, error });
      outdated.set(record.name, true);
    }
    yield;
  }
  const { epoch, counter, head } = changes.state;
  const all = LayeredMap.of(previous?.domains ?? new Map<DomainName, DomainSnapshot>()).with(domains);
  const everyone = LayeredMap.of(previous?.members ?? new Map<DomainName, DomainMembers>()).with(members);
  const snapshot = Object.freeze({
    epoch,
    counter,
    head,
    domain: (name: DomainName) => all.get(name),
    domains: all,
    members: everyone,
    disabledDomains: changedNames(previous?.disabledDomains, disabled),
    outdatedDomains: changedNames(previous?.outdatedDomains, outdated),
    signingKeys: changes.signingKeys,
  });
  return { snapshot, problems };
}

/** INVARIANT: changes go on top of the very state that they were read for; on any other they would lose or revive members. */
function previousOf(known: Snapshot | undefined, { since }: StoreChanges): Snapshot | undefined {
  if (since === undefined) return undefined;
  if (known === undefined || !isSameState(known, since)) throw new Error('the changes are those of another state');
  return known;
}

function changedDomains({ domains, patches = [] }: StoreChanges) {
  return [
    ...domains.map((record) => ({ record, patch: undefined })),
    ...patches.map((patch) => ({ record: patch.excerpt, patch })),
  ];
}

/** A domain and its members before a patch. */
interface Base extends Omit<DomainPatch, 'excerpt'> {
  readonly domain: DomainSnapshot;
  readonly members: DomainMembers;
}

function baseOf(previous: Snapshot | undefined, { excerpt: { name }, ...patch }: DomainPatch): Base {
  const [domain, members] = [previous?.domain(name), previous?.members.get(name)];
  if (domain === undefined || members === undefined || previous?.outdatedDomains.has(name) === true) {
    throw new Error(`the change of domain \`${name}\` is for one that is not known`);
  }
  return { ...patch, domain, members };
}

function membersAfter(record: DomainRecord, base: Base | undefined): Steps<DomainMembers> {
  return base === undefined ? compileMembersInSteps(record) : changeMembersInSteps(base.members, record, base.names);
}

/** The very same set where nothing changed. */
function changedNames(
  known: ReadonlySet<DomainName> = new Set(),
  changes: ReadonlyMap<DomainName, boolean>,
): ReadonlySet<DomainName> {
  const different = [...changes].filter(([name, isIn]) => known.has(name) !== isIn);
  if (different.length === 0) return known;
  const names = new Set(known);
  for (const [name, isIn] of different) {
    if (isIn) names.add(name);
    else names.delete(name);
  }
  return names;
}
