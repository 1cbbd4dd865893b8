import type { DomainName } from '@signet/policy-engine/names';
import type { DomainRecord } from '../model/records.ts';
import { isSameState } from '../model/snapshot-source.ts';
import type { DomainPatch, StoreChanges, StoreState } from '../model/store.ts';
import { runAtOnce, type Steps } from '../steps/steps.ts';
import { compileDomainInSteps } from './compile-domain.ts';
import { changeMembersInSteps, compileMembersInSteps } from './compile-members.ts';
import type { DomainMembers } from './domain-members.ts';
import { LayeredMap } from './layered-map.ts';
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

/** The snapshot after `changes`, sharing with `known`, the one before them, whatever did not change. Pure. */
export function compileSnapshot(known: Snapshot | undefined, changes: StoreChanges): CompiledSnapshot {
  return runAtOnce(compileInSteps(known, changes));
}

export function* compileInSteps(known: Snapshot | undefined, changes: StoreChanges): Steps<CompiledSnapshot> {
  const { state, deleted, domains, patches = [], signingKeys } = changes;
  const builder = new SnapshotBuilder(state, known, previousOf(known, changes));
  for (const name of deleted) builder.remove(name);
  for (const record of domains) yield* builder.addInSteps(record);
  for (const patch of patches) yield* builder.addInSteps(patch.excerpt, patch);
  return builder.build(signingKeys);
}

/** Makes a snapshot, domain by domain. */
export class SnapshotBuilder {
  readonly #state: StoreState;
  readonly #last: Snapshot | undefined;
  readonly #previous: Snapshot | undefined;
  readonly #domains = new Map<DomainName, DomainSnapshot | undefined>();
  readonly #members = new Map<DomainName, DomainMembers | undefined>();
  readonly #disabled = new Map<DomainName, boolean>();
  readonly #outdated = new Map<DomainName, boolean>();
  readonly #problems: CompileProblem[] = [];

  /** `last`: the snapshot before, whose counts go on; `previous`: the one that is changed, absent when the new one is made of everything. */
  constructor(state: StoreState, last?: Snapshot, previous?: Snapshot) {
    this.#state = state;
    this.#last = last;
    this.#previous = previous;
  }

  remove(name: DomainName): void {
    this.#set(name, undefined, undefined);
    this.#disabled.set(name, false);
    this.#outdated.set(name, false);
  }

  /** A domain, whole or as a patch of what the snapshot before has of it. */
  *addInSteps(record: DomainRecord, patch?: DomainPatch): Steps<void> {
    this.#disabled.set(record.name, !record.enabled);
    this.#outdated.set(record.name, false);
    if (!record.enabled) return this.#set(record.name, undefined, undefined);
    try {
      yield* this.#compile(record, patch && baseOf(this.#previous, patch));
    } catch (error) {
      this.#problems.push({ domain: record.name, error });
      this.#outdated.set(record.name, true);
    }
    yield;
  }

  *#compile(record: DomainRecord, base: Base | undefined): Steps<void> {
    const listed = yield* membersAfter(record, base);
    // Whoever left is out also where the rest cannot be used.
    if (this.#previous?.domain(record.name) !== undefined) this.#members.set(record.name, listed);
    const sameRules = base?.sameRules === true ? base.domain : undefined;
    const last = this.#last?.domain(record.name);
    const compiled =
      base?.sameModel === true
        ? base.domain
        : yield* compileDomainInSteps(record, this.#state.epoch, { sameRules, last });
    this.#set(record.name, compiled, listed);
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
      disabledDomains: changedNames(previous?.disabledDomains, this.#disabled),
      outdatedDomains: changedNames(previous?.outdatedDomains, this.#outdated),
      signingKeys,
    });
    return { snapshot, problems: this.#problems };
  }
}

/** INVARIANT: changes go on top of the very state that they were read for; on any other they would lose or revive members. */
function previousOf(known: Snapshot | undefined, { since }: StoreChanges): Snapshot | undefined {
  if (since === undefined) return undefined;
  if (known === undefined || !isSameState(known, since)) throw new Error('the changes are those of another state');
  return known;
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
