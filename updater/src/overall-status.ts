import { parseTimestamp } from '@signet/policy-engine/clock';
import type { BundleCheck } from './check-bundle.ts';
import { type ExitStatus, exitStatus, worst } from './exit-status.ts';
import { nothingToFollow } from './selected-domains.ts';
import type { DomainStatus, Status } from './updater-status.ts';

/** Age without confirmation by the server after which a domain is stale (ten runs), in milliseconds. */
const staleAfter = 600_000;

/** State of one domain on this host. */
export interface DomainReport {
  readonly domain: string;
  readonly state: 'fresh' | 'stale' | 'missing' | 'expired' | 'bad';
  readonly check: BundleCheck;
  readonly last: DomainStatus | undefined;
}

/** Summary of all domains in one word: all fresh; some need an operator; no confirmation for a while. */
interface OverallStatus {
  readonly state: 'ok' | 'degraded' | 'stale';
  readonly counts: Readonly<Record<DomainReport['state'], number>>;
  /** Problems beside single domains, a line each. */
  readonly problems: readonly string[];
  readonly exitStatus: ExitStatus;
}

const statusOfState: Readonly<Record<DomainReport['state'], ExitStatus>> = {
  fresh: exitStatus.ok,
  stale: exitStatus.refused,
  missing: exitStatus.refused,
  expired: exitStatus.rejected,
  bad: exitStatus.rejected,
};

type Problem = readonly [says: string, status: ExitStatus];

/** Pure. `file` is what the last run left. */
export function overallStatus(reports: readonly DomainReport[], file: Status | undefined, now: number): OverallStatus {
  const counts = { fresh: 0, stale: 0, missing: 0, expired: 0, bad: 0 };
  for (const { state } of reports) counts[state] += 1;
  const problems = [...problemsOf(file, now), ...(reports.length === 0 ? withoutDomains(file) : [])];
  const isStale = isOld(file?.lastRun, now) || (reports.length > 0 && counts.fresh === 0);
  const isOk = problems.length === 0 && counts.fresh === reports.length;
  return {
    state: isStale ? 'stale' : isOk ? 'ok' : 'degraded',
    counts,
    problems: problems.map(([says]) => says),
    exitStatus: worst([...reports.map(({ state }) => statusOfState[state]), ...problems.map(([, status]) => status)]),
  };
}

/** True if a time of confirmation is too old. A time that lies as far ahead is from before the clock was set back. */
export function isOld(time: string | undefined, now: number): boolean {
  const at = time === undefined ? undefined : parseTimestamp(time);
  return at === undefined || Math.abs(now - at) > staleAfter;
}

/** A list of domains that the server answers says itself that it is empty. */
function withoutDomains(file: Status | undefined): readonly Problem[] {
  return file?.selection === undefined ? [[nothingToFollow, exitStatus.refused]] : [];
}

function problemsOf(file: Status | undefined, now: number): readonly Problem[] {
  if (file === undefined) return [['no run has ended yet', exitStatus.refused]];
  const { lastRun, certificateExpires, configurationError, selection, keys } = file;
  const problems: Problem[] = [];
  if (isOld(lastRun, now))
    problems.push([`the last run was at ${lastRun}: is the updater running?`, exitStatus.refused]);
  if (certificateExpires !== undefined && now >= (parseTimestamp(certificateExpires) ?? 0)) {
    problems.push([`the certificate expired at ${certificateExpires}`, exitStatus.usage]);
  }
  if (configurationError !== undefined) {
    problems.push([`the configuration on disk is not in use: ${configurationError}`, exitStatus.usage]);
  }
  if (selection?.error !== undefined) problems.push([`list of domains: ${selection.error}`, exitStatus.refused]);
  if (keys.error !== undefined) problems.push([`keys: ${keys.error}`, exitStatus.refused]);
  return problems;
}

/** Overall status as one line. */
export function describeOverall({ state, counts, problems }: OverallStatus): string {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const parts = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  return [`${state}: ${[`${total} domain${total === 1 ? '' : 's'}`, ...parts].join(', ')}`, ...problems].join('; ');
}
