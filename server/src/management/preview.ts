import type { Clock } from '@signet/policy-engine/clock';
import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { ServiceUnavailableError } from '../errors.ts';
import type { AccessChange, ImpactTotals } from '../impact/impact.ts';
import type { DomainChange } from '../model/domain-change.ts';
import type { StoreState } from '../model/store.ts';
import { deltaOf } from './domain-delta.ts';
import type { DryRuns } from './dry-runs.ts';
import type { ImpactAnswer, PlannedChange } from './find-impact.ts';
import { deletionOf, describeChanges, type ObjectChange } from './object-changes.ts';

/** Answer of a dry run. */
export interface Preview {
  readonly changes: readonly ObjectChange[];
  /** How many there are, where not all of them are listed. */
  readonly changesTotal?: number;
  /** Null when the patterns are too complex to tell. */
  readonly impact: readonly AccessChange[] | null;
  /** Totals of the impact; present when it is too large to list. */
  readonly impactTotals?: ImpactTotals;
  /** Warnings for the author; absent if there are none. */
  readonly warnings?: readonly string[];
}

/** Objects that a dry run lists; the others are counted. */
const maxListedChanges = 1000;
/** Maximum number of attempts of a dry run, when the domain was changed meanwhile. */
const maxTries = 3;

/** Effect of a change on a domain, and warnings for its author. */
interface TriedChange {
  readonly changes: readonly ObjectChange[];
  readonly change: PlannedChange;
  readonly warnings: readonly string[];
}

/** Effect of a change on the domain as it is in that state. */
export function triedChange(
  domain: DomainName,
  { change, warnings }: { readonly change: DomainChange | 'deletion'; readonly warnings: readonly string[] },
  since: StoreState,
): TriedChange {
  if (change === 'deletion') return { changes: [deletionOf(domain)], change: { kind: 'delete' }, warnings };
  const planned: PlannedChange = {
    ...(change.before === undefined ? { kind: 'create' } : { kind: 'change', since }),
    delta: deltaOf(change),
  };
  return { changes: describeChanges(change), change: planned, warnings };
}

/**
 * Preview of a change, as far as its author may know: `attempt` makes it on the present store, and saves nothing. One at a time for each caller.
 * Throws `TooManyRequestsError`, `ServiceUnavailableError` and what `attempt` throws.
 */
export function preview(
  { dryRuns, clock }: { readonly dryRuns: Pick<DryRuns, 'run' | 'findImpact'>; readonly clock: Clock },
  { caller, signal }: { readonly caller: PrincipalName; readonly signal?: AbortSignal },
  domain: DomainName,
  attempt: () => Promise<TriedChange>,
): Promise<{ readonly kind: 'dry-run'; readonly preview: Preview }> {
  return dryRuns.run(caller, async () => {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      const { changes, change, warnings } = await attempt();
      const answer = await dryRuns.findImpact({ caller, domain, change, now: clock.now() }, signal);
      if (answer.kind !== 'moved') return { kind: 'dry-run', preview: previewOf(changes, answer, warnings) };
    }
    throw new ServiceUnavailableError(`domain \`${domain}\` changes all the time: send the request again`);
  });
}

function previewOf(
  changes: readonly ObjectChange[],
  answer: Exclude<ImpactAnswer, { readonly kind: 'moved' }>,
  warnings: readonly string[],
): Preview {
  const found = answer.kind === 'found' ? answer : undefined;
  const listed = changes.slice(0, maxListedChanges);
  const all = [...(found === undefined ? [] : impactWarnings(found)), ...warnings];
  return {
    changes: listed,
    ...(listed.length < changes.length && { changesTotal: changes.length }),
    impact: found?.changes ?? null,
    ...(found?.totals !== undefined && { impactTotals: found.totals }),
    ...(all.length > 0 && { warnings: all }),
  };
}

function impactWarnings({ changes, totals, more }: Extract<ImpactAnswer, { readonly kind: 'found' }>): string[] {
  const least = totals?.isExact === false ? 'at least ' : '';
  const tooLarge =
    totals &&
    `the impact is too large to list: ${least}${totals.gains} gains and ${least}${totals.losses} losses, of which ${changes.length} are listed`;
  return [
    ...(tooLarge === undefined ? [] : [tooLarge]),
    ...(more ? ['access may change in domains that you may not look at'] : []),
  ];
}
