import type { DomainName } from '@signet/policy-engine/names';
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

/** The snapshot after `changes`, sharing with `previous` whatever did not change. Pure. */
export function compileSnapshot(previous: Snapshot | undefined, changes: StoreChanges): CompiledSnapshot {
  return runAtOnce(compileInSteps(previous, changes));
}

export function* compileInSteps(previous: Snapshot | undefined, changes: StoreChanges): Steps<CompiledSnapshot> {
  const domains = new Map<DomainName, DomainSnapshot | undefined>();
  const disabledDomains = new Set<DomainName>(previous?.disabledDomains);
  const problems: CompileProblem[] = [];
  for (const name of changes.deleted) {
    domains.set(name, undefined);
    disabledDomains.delete(name);
  }
  for (const { record, patch } of changedDomains(changes)) {
    if (!record.enabled) {
      domains.set(record.name, undefined);
      disabledDomains.add(record.name);
      continue;
    }
    disabledDomains.delete(record.name);
    try {
      const base = patch && baseOf(previous, patch);
      const before = previous?.domain(record.name);
      domains.set(record.name, yield* compileDomainInSteps(record, changes.state.epoch, base, before));
    } catch (error) {
      problems.push({ domain: record.name, error });
    }
    yield;
  }
  const known = LayeredMap.of(previous?.domains ?? new Map<DomainName, DomainSnapshot>());
  return { snapshot: snapshotOf(known.with(domains), disabledDomains, changes), problems };
}

function changedDomains({ domains, patches = [] }: StoreChanges) {
  return [
    ...domains.map((record) => ({ record, patch: undefined })),
    ...patches.map((patch) => ({ record: patch.excerpt, patch })),
  ];
}

/** INVARIANT: a patch is for one version of a domain; on any other it would lose or revive members. */
function baseOf(previous: Snapshot | undefined, { excerpt, since, names, sameRules }: DomainPatch): DomainBase {
  const known = previous?.domain(excerpt.name);
  if (known?.version !== since) throw new Error(`the change of domain \`${excerpt.name}\` is for another version`);
  return { previous: known, names, sameRules };
}

function snapshotOf(
  domains: ReadonlyMap<DomainName, DomainSnapshot>,
  disabledDomains: ReadonlySet<DomainName>,
  changes: StoreChanges,
): Snapshot {
  return Object.freeze({
    epoch: changes.state.epoch,
    counter: changes.state.counter,
    domain: (name: DomainName) => domains.get(name),
    domains,
    disabledDomains,
    signingKeys: changes.signingKeys,
  });
}
