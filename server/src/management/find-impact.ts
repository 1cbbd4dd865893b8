import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { type FoldedImpact, foldedImpactInSteps } from '../impact/fold.ts';
import type { Work } from '../impact/work.ts';
import { emptyDomain } from '../model/empty-domain.ts';
import type { DomainContent, DomainRecord } from '../model/records.ts';
import type { Store, StoreReader, StoreState } from '../model/store.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import { diffDomains } from '../store/diff-domains.ts';
import { affectedDomains } from './affected-domains.ts';
import { asRecord } from './check-documents.ts';
import { neededDomains } from './documents/references.ts';
import { applyDelta, type DomainDelta } from './domain-delta.ts';
import { unlessEntangled } from './find-effect.ts';
import { rightsOf, systemDomain } from './rights.ts';
import { comparable, snapshotOf, withNeeded } from './stored-world.ts';

export type PlannedChange =
  | { readonly kind: 'create'; readonly delta: DomainDelta }
  /** Good for the domain as it was in that state: on another one it would be another change. */
  | { readonly kind: 'change'; readonly since: StoreState; readonly delta: DomainDelta }
  | { readonly kind: 'delete' };

/** Query for the impact of a planned change of a domain. Plain data: it is sent to another thread. */
export interface ImpactQuestion {
  readonly caller: PrincipalName;
  readonly domain: DomainName;
  readonly change: PlannedChange;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type ImpactAnswer =
  | ({ readonly kind: 'found' } & FoldedImpact)
  /** The patterns are too entangled to tell. */
  | { readonly kind: 'entangled' }
  /** The domain is not the one any more that the change was made for. */
  | { readonly kind: 'moved' };

/**
 * Access that principals gain or lose by a change, as far as its author may know. Reads the domains that the change concerns as of one instant,
 * and no others. Throws what the store and `work` throw.
 */
export async function findImpact(
  store: Pick<Store, 'view'>,
  { caller, domain, change, now }: ImpactQuestion,
  work: Work,
): Promise<ImpactAnswer> {
  const sides = await store.view((reader) => readSides(reader, domain, change));
  if (sides === undefined) return { kind: 'moved' };
  const { before, after } = sides;
  const { epoch, counter, head } = before;
  const { snapshot } = compileSnapshot(before, {
    state: { epoch, counter, head },
    since: before,
    domains: after.map((content) => asRecord(content, now)),
    deleted: [],
    signingKeys: [],
  });
  const comparison = { before, after: snapshot, now, work };
  const found = await unlessEntangled(
    foldedImpactInSteps(comparison, new Set([domain]), rightsOf(before, caller, now)),
  );
  return found === undefined ? { kind: 'entangled' } : { kind: 'found', ...found };
}

/** The part of the store that decides about the change, and the domain after it; undefined when that is not what it was. */
async function readSides(reader: StoreReader, name: DomainName, change: PlannedChange) {
  const before = await reader.domain(name);
  if (!(await isAsAsked(reader, name, before, change))) return undefined;
  const after = contentAfter(name, before, change);
  const sides = [before ?? emptyDomain(name), after];
  const affected = await affectedDomains(reader, [diffDomains(before, after)]);
  const domains = await withNeeded(reader, new Map(), [systemDomain, name, ...affected, ...neededDomains(sides)]);
  return { before: snapshotOf({ domains, switchedOff: await reader.switchedOff() }), after: comparable(after, before) };
}

async function isAsAsked(
  reader: StoreReader,
  name: DomainName,
  before: DomainRecord | undefined,
  change: PlannedChange,
): Promise<boolean> {
  if (change.kind === 'change') return before !== undefined && (await reader.isUnchanged(name, change.since));
  return (before === undefined) === (change.kind === 'create');
}

/** A domain that is deleted is as one that is disabled: its services hold nothing, and its roles have no members. */
function contentAfter(name: DomainName, before: DomainRecord | undefined, change: PlannedChange): DomainContent {
  if (change.kind === 'delete') return { ...emptyDomain(name), enabled: false };
  return applyDelta(before ?? emptyDomain(name), change.delta);
}
