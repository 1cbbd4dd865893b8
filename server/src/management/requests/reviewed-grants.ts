import { type DomainName, foldAscii } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import { reviewedActions } from '../../access/acts-alone.ts';
import { givesExactly } from '../../access/exact-access.ts';
import type { DomainChange } from '../../model/domain-change.ts';
import type { AssertionRecord, PolicyRecord } from '../../model/records.ts';

/* Assertions by which principals change a protected domain without approval. */

export function activeAssertions(policies: readonly PolicyRecord[]): readonly AssertionRecord[] {
  return policies.filter(({ active }) => active).flatMap(({ assertions }) => assertions);
}

/** Those of the assertions that give `apply_reviewed` or `break_glass` on the domain. */
export function reviewedGrants(domain: DomainName, assertions: readonly AssertionRecord[]): readonly AssertionRecord[] {
  return assertions.filter((one) => reviewedActions.some((action) => givesExactly(one, action, `${domain}:domain`)));
}

/** True if a change affects them. */
export function changesReviewed({ name, policies }: DomainChange): boolean {
  return changedAssertions(policies, (all) => reviewedGrants(name, all)).length > 0;
}

/** True if an assertion may be about a role, by its full name. */
export function isAbout({ role }: Pick<AssertionRecord, 'role'>, full: string): boolean {
  return matchesPattern(foldAscii(role), full);
}

/** The assertions, of those selected, that a change of policies adds, removes, or switches on or off. */
export function changedAssertions(
  policies: DomainChange['policies'],
  select: (assertions: readonly AssertionRecord[]) => readonly AssertionRecord[],
): readonly AssertionRecord[] {
  const was = keyed(select(activeAssertions([...policies.removed, ...policies.changed.map(({ before }) => before)])));
  const is = keyed(select(activeAssertions([...policies.added, ...policies.changed.map(({ after }) => after)])));
  const changed = [...was].filter(([key]) => !is.has(key)).concat([...is].filter(([key]) => !was.has(key)));
  return changed.map(([, assertion]) => assertion);
}

function keyed(assertions: readonly AssertionRecord[]): Map<string, AssertionRecord> {
  return new Map(
    assertions.map((one) => {
      const { effect, role, action, resource, conditions } = one;
      const folded = [role, action, resource].map(foldAscii);
      return [JSON.stringify([effect, ...folded, conditions ?? null]), one];
    }),
  );
}
