import type { DomainPolicy } from '@signet/policy-engine/policy';
import type { Logger } from '../logger.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';

interface OverrunReports {
  /** Reports for each domain the number of decisions that were denied for their work since the last report; nothing if there were none. */
  report(): void;
  /** Reports the rest, and stops. */
  close(): void;
}

const intervalMs = 60_000;

/** Reports once a minute, and so once a minute and domain: never a line for each request. */
export function reportOverruns(snapshot: () => Snapshot, logger: Pick<Logger, 'warn'>): OverrunReports {
  const reported = new WeakMap<DomainPolicy['overruns'], number>();
  const sinceLast = ({ overruns }: DomainPolicy) => {
    const since = overruns.count - (reported.get(overruns) ?? 0);
    if (since > 0) reported.set(overruns, overruns.count);
    return since;
  };
  const ofDomain = ({ policy, foreignPolicy }: DomainSnapshot) =>
    sinceLast(policy) + (foreignPolicy === undefined ? 0 : sinceLast(foreignPolicy));
  const report = () => {
    for (const domain of snapshot().domains.values()) {
      const decisions = ofDomain(domain);
      if (decisions === 0) continue;
      logger.warn(
        { domain: domain.name, decisions },
        'decisions exceeded the work limit and were denied (DENY_BUDGET_EXCEEDED): simplify the policies of the domain',
      );
    }
  };
  const timer = setInterval(report, intervalMs).unref();
  return {
    report,
    close: () => {
      clearInterval(timer);
      report();
    },
  };
}
