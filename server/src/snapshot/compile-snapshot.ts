import type { DomainName } from '@signet/policy-engine/names';
import type { DomainRecord } from '../model/records.ts';
import {
  type DomainGrants,
  type DomainModel,
  type DomainUpdate,
  isSameState,
  type PackedDomain,
  type StoreChanges,
  type StoreState,
} from '../model/snapshot-source.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { changeBundleDomains } from './bundle-domains.ts';
import { compileDomain, compileGrantsInSteps } from './compile-domain.ts';
import { changeMembers, compileMembersInSteps } from './compile-members.ts';
import type { DomainMembers } from './domain-members.ts';
import { LayeredMap } from './layered-map.ts';
import { packedMembersInSteps } from './packed-domain-members.ts';
import type { DomainSnapshot, Snapshot } from './snapshot.ts';

/** A domain that cannot be used; what was known of it before stays in force. */
interface CompileProblem {
  readonly domain: DomainName;
  readonly error: unknown;
}

export interface CompiledSnapshot {
  readonly snapshot: Snapshot;
  readonly problems: readonly CompileProblem[];
}

/** Snapshot after `changes`, sharing unchanged parts with `known`, the one before them. Pure. */
export function compileSnapshot(known: Snapshot | undefined, changes: StoreChanges): CompiledSnapshot {
  return runAtOnce(compileInSteps(known, changes));
}

export function* compileInSteps(known: Snapshot | undefined, changes: StoreChanges): Steps<CompiledSnapshot> {
  const { state, deleted, domains, updates = [], signingKeys, isPart } = changes;
  const builder = new SnapshotBuilder(state, known, previousOf(known, changes), isPart);
  for (const name of deleted) builder.remove(name);
  for (const record of domains) yield* builder.addInSteps(record);
  for (const update of updates) yield* builder.updateInSteps(update);
  return builder.build(signingKeys);
}

function membersInSteps(record: DomainRecord | PackedDomain): Steps<DomainMembers> {
  return 'members' in record ? packedMembersInSteps(record) : compileMembersInSteps(record);
}

/** Makes a snapshot, domain by domain. */
export class SnapshotBuilder {
  readonly #state: StoreState;
  readonly #last: Snapshot | undefined;
  readonly #previous: Snapshot | undefined;
  readonly #isPart: boolean;
  readonly #domains = new Map<DomainName, DomainSnapshot | undefined>();
  readonly #members = new Map<DomainName, DomainMembers | undefined>();
  readonly #disabled = new Map<DomainName, boolean>();
  readonly #outdated = new Map<DomainName, boolean>();
  readonly #problems: CompileProblem[] = [];

  /** `last`: the snapshot before, whose counts are kept; `previous`: the one that is changed, absent when the new one is made from scratch. */
  constructor(state: StoreState, last?: Snapshot, previous?: Snapshot, isPart = previous?.isPart ?? false) {
    this.#state = state;
    this.#last = last;
    this.#previous = previous;
    this.#isPart = isPart;
  }

  remove(name: DomainName): void {
    this.#set(name, undefined, undefined);
    this.#disabled.set(name, false);
    this.#outdated.set(name, false);
  }

  /** A domain, whole. */
  *addInSteps(record: DomainRecord | PackedDomain): Steps<void> {
    yield* this.#compileInSteps(record, record.enabled ? yield* membersInSteps(record) : undefined);
  }

  /** A domain of the snapshot before, as far as it changed. */
  *updateInSteps(update: DomainUpdate): Steps<void> {
    const { name, model, grants } = update;
    const [domain, members] = [this.#previous?.domain(name), this.#previous?.members.get(name)];
    if (domain === undefined || members === undefined || this.#previous?.outdatedDomains.has(name) === true) {
      return this.#fail(name, new Error(`the change of domain \`${name}\` is for one that is not known`));
    }
    const changed = changeMembers(members, update);
    if (model === undefined) this.#set(name, domain, changed);
    else yield* this.#compileInSteps({ ...model, ...grants }, changed);
  }

  *#compileInSteps(model: DomainModel & Partial<DomainGrants>, members: DomainMembers | undefined): Steps<void> {
    const { name } = model;
    this.#disabled.set(name, !model.enabled);
    this.#outdated.set(name, false);
    if (!model.enabled) return this.#set(name, undefined, undefined);
    const last = this.#last?.domain(name);
    try {
      const { policies, services } = model;
      const grants =
        policies === undefined || services === undefined
          ? last
          : yield* compileGrantsInSteps({ ...model, policies, services }, this.#state.epoch, last);
      if (grants !== undefined) this.#set(name, compileDomain(model, grants), members);
    } catch (error) {
      // Removed members take effect even if the rest cannot be used.
      if (this.#previous?.domain(name) !== undefined) this.#members.set(name, members);
      this.#fail(name, error);
    }
    yield;
  }

  #fail(domain: DomainName, error: unknown): void {
    this.#problems.push({ domain, error });
    this.#outdated.set(domain, true);
  }

  #set(name: DomainName, domain: DomainSnapshot | undefined, members: DomainMembers | undefined): void {
    this.#domains.set(name, domain);
    this.#members.set(name, members);
  }

  build(signingKeys: Snapshot['signingKeys']): CompiledSnapshot {
    const { epoch, counter, head } = this.#state;
    const previous = this.#previous;
    const domains = LayeredMap.of(previous?.domains ?? new Map<DomainName, DomainSnapshot>()).with(this.#domains);
    const members = LayeredMap.of(previous?.members ?? new Map<DomainName, DomainMembers>()).with(this.#members);
    const snapshot = Object.freeze({
      epoch,
      counter,
      head,
      domain: (name: DomainName) => domains.get(name),
      domains,
      members,
      bundleDomains: changeBundleDomains(previous, this.#domains),
      disabledDomains: changedNames(previous?.disabledDomains, this.#disabled),
      outdatedDomains: changedNames(previous?.outdatedDomains, this.#outdated),
      isPart: this.#isPart,
      signingKeys,
    });
    return { snapshot, problems: this.#problems };
  }
}

/** INVARIANT: changes are applied to the very state that they were read for; on any other they would lose or revive members. */
function previousOf(known: Snapshot | undefined, { since }: StoreChanges): Snapshot | undefined {
  if (since === undefined) return undefined;
  if (known === undefined || !isSameState(known, since)) throw new Error('the changes are those of another state');
  return known;
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
