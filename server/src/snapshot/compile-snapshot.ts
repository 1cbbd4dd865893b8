import type { DomainName } from '@signet/policy-engine/names';
import type { StoreChanges } from '../store/store.ts';
import { compileDomainSnapshot } from './compile-domain.ts';
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

/** The snapshot after `changes`, sharing every unchanged domain with `previous`. Pure. */
export function compileSnapshot(previous: Snapshot | undefined, changes: StoreChanges): CompiledSnapshot {
  const domains = new Map<DomainName, DomainSnapshot>(previous?.domains);
  const disabledDomains = new Set<DomainName>(previous?.disabledDomains);
  const problems: CompileProblem[] = [];
  for (const name of changes.deleted) {
    domains.delete(name);
    disabledDomains.delete(name);
  }
  for (const record of changes.domains) {
    if (!record.enabled) {
      domains.delete(record.name);
      disabledDomains.add(record.name);
      continue;
    }
    disabledDomains.delete(record.name);
    try {
      domains.set(record.name, compileDomainSnapshot(record, changes.state.epoch));
    } catch (error) {
      problems.push({ domain: record.name, error });
    }
  }
  return { snapshot: snapshotOf(domains, disabledDomains, changes), problems };
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
