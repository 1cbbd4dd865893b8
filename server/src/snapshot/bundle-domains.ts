import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { LayeredMap } from './layered-map.ts';
import type { DomainSnapshot, Snapshot } from './snapshot.ts';

/** `Snapshot.bundleDomains` after these domains have changed: costs what the readers concerned are named by. Pure. */
export function changeBundleDomains(
  previous: Pick<Snapshot, 'bundleDomains' | 'domain'> | undefined,
  changed: ReadonlyMap<DomainName, DomainSnapshot | undefined>,
): LayeredMap<PrincipalName, readonly DomainName[]> {
  const known = LayeredMap.of(previous?.bundleDomains ?? new Map<PrincipalName, readonly DomainName[]>());
  const sets = new Map<PrincipalName, Set<DomainName>>();
  const setOf = (reader: PrincipalName): Set<DomainName> => {
    const set = sets.get(reader) ?? new Set(known.get(reader));
    sets.set(reader, set);
    return set;
  };
  for (const [name, domain] of changed) {
    const [before, after] = [previous?.domain(name)?.bundleReaders ?? [], domain?.bundleReaders ?? []];
    for (const reader of before) if (!after.includes(reader)) setOf(reader).delete(name);
    for (const reader of after) if (!before.includes(reader)) setOf(reader).add(name);
  }
  return known.with([...sets].map(([reader, set]) => [reader, set.size === 0 ? undefined : [...set].sort()] as const));
}
