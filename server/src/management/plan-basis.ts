import type { DomainName } from '@signet/policy-engine/names';
import type { DomainChange, MovedDomain } from '../model/domain-change.ts';
import type { DomainRecord } from '../model/records.ts';
import { isSameState } from '../model/snapshot-source.ts';
import type { StoreReader, StoreState, SwitchedOff } from '../model/store.ts';
import { affectedDomains } from './affected-domains.ts';
import { neededDomains } from './documents/references.ts';

/** Part of a store that a plan was made on: its effect is the same as long as that stays. */
export interface PlanBasis {
  readonly state: StoreState;
  readonly changes: readonly DomainChange[];
  readonly present: readonly DomainName[];
  /** Domains that the plan has to do with and that do not exist. */
  readonly absent: readonly DomainName[];
  readonly affected: readonly DomainName[];
  readonly switchedOff: SwitchedOff;
}

/** Domains that were read for a plan, and those in which access may change. */
interface ReadForPlan {
  readonly domains: ReadonlyMap<DomainName, DomainRecord>;
  readonly affected: readonly DomainName[];
  readonly switchedOff: SwitchedOff;
}

export function basisOf(
  state: StoreState,
  moved: readonly MovedDomain[],
  { domains, affected, switchedOff }: ReadForPlan,
): PlanBasis {
  const changes = moved.map(({ change }) => change);
  const wanted = neededDomains([...domains.values(), ...moved.map(({ after }) => after)]);
  const named = new Set([...wanted, ...changes.map(({ name }) => name), ...affected]);
  return {
    state,
    changes,
    present: [...domains.keys()],
    absent: [...named].filter((name) => !domains.has(name)),
    affected,
    switchedOff,
  };
}

/** True if the effect of the plan is the same on the present store, whatever else has changed in it. */
export async function isStill(basis: PlanBasis, reader: StoreReader): Promise<boolean> {
  if (isSameState(basis.state, reader.state())) return true;
  for (const name of basis.present) if (!(await reader.isUnchanged(name, basis.state))) return false;
  for (const name of basis.absent) if ((await reader.attributes(name)) !== undefined) return false;
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  return (
    isSame(await reader.switchedOff(), basis.switchedOff) &&
    isSame(sorted(await affectedDomains(reader, basis.changes)), sorted(basis.affected))
  );
}

function sorted(names: readonly DomainName[]): readonly DomainName[] {
  return [...new Set(names)].sort();
}
