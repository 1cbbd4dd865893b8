import type { DomainName } from '@signet/policy-engine/names';
import { isSameState } from '../store/snapshot-source.ts';
import type { DomainPatch, StoreChanges } from '../store/store.ts';
import { compileDomainInSteps, type DomainBase } from './compile-domain.ts';
import { LayeredMap } from './layered-map.ts';
import type { DomainSnapshot, Snapshot } from './snapshot.ts';
import { runAtOnce, type Steps } from './steps.ts';

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
  const disabled = new Map<DomainName, boolean>();
  const outdated = new Map<DomainName, boolean>();
  const problems: CompileProblem[] = [];
  for (const name of changes.deleted) {
    domains.set(name, undefined);
    disabled.set(name, false);
    outdated.set(name, false);
  }
  for (const { record, patch } of changedDomains(changes)) {
    disabled.set(record.name, !record.enabled);
    outdated.set(record.name, false);
    if (!record.enabled) {
      domains.set(record.name, undefined);
      continue;
    }
    try {
      const base = patch && baseOf(previous, patch);
      const before = known?.domain(record.name);
      domains.set(record.name, yield* compileDomainInSteps(record, changes.state.epoch, base, before));
    } catch (error) {
      problems.push({ domain: record.name, error });
      outdated.set(record.name, true);
    }
    yield;
  }
  const { epoch, counter, head } = changes.state;
  const all = LayeredMap.of(previous?.domains ?? new Map<DomainName, DomainSnapshot>()).with(domains);
  const snapshot = Object.freeze({
    epoch,
    counter,
    head,
    domain: (name: DomainName) => all.get(name),
    domains: all,
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

function baseOf(previous: Snapshot | undefined, { excerpt, names, sameRules }: DomainPatch): DomainBase {
  const known = previous?.domain(excerpt.name);
  if (known === undefined || previous?.outdatedDomains.has(excerpt.name) === true) {
    throw new Error(`the change of domain \`${excerpt.name}\` is for one that is not known`);
  }
  return { previous: known, names, sameRules };
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
