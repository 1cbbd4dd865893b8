import { freshUntil, issuedSkew, notYetValid } from '../bundle/verify.ts';
import type { PolicySet } from '../engine/policy-set.ts';
import { PolicyEngineError, type PolicyEngineErrorCode } from '../errors.ts';
import { didYouMean } from '../nearest.ts';
import type { DomainPolicy } from '../policy/index.ts';
import type { RecordCounts } from '../records/decision-recorder.ts';
import type { ServedDomains } from '../served-domains.ts';
import type { SteadyClock } from '../steady-clock.ts';
import type { PolicyDirectories } from './policy-directories.ts';

/** A problem and when it was met, in milliseconds since the epoch. */
export interface HealthError {
  readonly code: PolicyEngineErrorCode;
  readonly message: string;
  readonly at: number;
}

/** The state of one domain's policy. Times are milliseconds since the epoch, ages milliseconds. */
export interface DomainHealth {
  readonly domain: string;
  /** `missing`: no good bundle was ever loaded, of a file or of a domain that is served. `stale`: past three quarters of its life. */
  readonly state: 'fresh' | 'stale' | 'expired' | 'missing';
  readonly epoch?: number;
  readonly version?: number;
  readonly issued?: number;
  readonly expires?: number;
  readonly loaded?: number;
  /** Since the bundle was issued; 0 when that lies ahead of the own clock. */
  readonly ageMs?: number;
  readonly assertions?: number;
  /** Assertions that can never match, and decisions that took too much work (`DENY_BUDGET_EXCEEDED`). */
  readonly problems?: readonly string[];
  /** Error of the present file, which is not the one in force; of a clock that is behind the one in force; or of a served domain without a file. */
  readonly error?: HealthError;
}

/** State of an engine: the bundles in force, their age, and errors. */
export interface EngineHealth {
  /** There is policy, of every served domain; every domain is fresh or stale, and nothing is wrong with the directory. */
  readonly ok: boolean;
  readonly domains: readonly DomainHealth[];
  /** Counts of decision records, by result. */
  readonly records?: RecordCounts;
  /** Time of the last scan of the policy directory. */
  readonly scanned?: number;
  /** Amount by which the clock was set back, while the engine goes on by the former time. Milliseconds. */
  readonly clockSetBackMs?: number;
  /** Keys of the key set that are left out, with the reason; the others count. */
  readonly keysLeftOut?: readonly string[];
  /** Error of a policy directory, of the keys or of the floor file; or a directory without any bundle. */
  readonly error?: { readonly code: PolicyEngineErrorCode; readonly message: string };
}

interface HealthParts {
  readonly set: PolicySet;
  /** Undefined for an engine over policies in memory. */
  readonly directory: PolicyDirectories | undefined;
  readonly records: RecordCounts | undefined;
  readonly clock: SteadyClock;
  readonly served: Pick<ServedDomains, 'names'>;
}

/** The health of an engine with or without a directory. */
export function healthOf({ set, directory, records, clock, served }: HealthParts): EngineHealth {
  const now = clock.now();
  const loaded = directory === undefined ? memoryHealth(set) : directoryHealth(directory, now);
  const domains = [...loaded, ...withoutPolicy(served.names ?? [], loaded, now)].sort(byName);
  const error = directory?.error ?? (directory !== undefined && domains.length === 0 ? noBundle() : undefined);
  const isUsable = domains.every(({ state, error: problem }) => (state === 'fresh' || state === 'stale') && !problem);
  return {
    ok: isUsable && error === undefined,
    domains,
    ...(records !== undefined && { records }),
    ...(directory?.scanned !== undefined && { scanned: directory.scanned }),
    ...(clock.setBackMs > 0 && { clockSetBackMs: clock.setBackMs }),
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
  };
}

function memoryHealth(set: PolicySet): DomainHealth[] {
  return [...set].map(([domain, { policy }]) => ({
    domain,
    state: 'fresh',
    assertions: policy.assertionCount,
    problems: problemsOf(policy),
  }));
}

function directoryHealth(directory: PolicyDirectories, now: number): DomainHealth[] {
  const errors = new Map(directory.errors);
  const domains: DomainHealth[] = [];
  for (const [domain, bundle] of directory.bundles) {
    const { issued, expires, loaded, version, policy } = bundle;
    domains.push({
      domain,
      state: now >= expires ? 'expired' : now >= freshUntil(bundle) ? 'stale' : 'fresh',
      ...version,
      issued,
      expires,
      loaded,
      ageMs: Math.max(0, now - issued),
      assertions: policy.assertionCount,
      problems: problemsOf(policy),
      ...problem(errors.get(domain) ?? (issued > now + issuedSkew ? { error: notYetValid(), at: now } : undefined)),
    });
    errors.delete(domain);
  }
  for (const [domain, error] of errors) domains.push({ domain, state: 'missing', ...problem(error) });
  return domains;
}

function byName(a: DomainHealth, b: DomainHealth): number {
  return a.domain < b.domain ? -1 : 1;
}

/** Served domains that have neither policy nor a file: every request about them is denied. */
function withoutPolicy(served: readonly string[], loaded: readonly DomainHealth[], now: number): DomainHealth[] {
  const names = new Set(loaded.map(({ domain }) => domain));
  const missing = [...new Set(served)].filter((domain) => !names.has(domain));
  // A probe of a host with many domains must not compare each with each: that takes seconds.
  const isCheap = missing.length * names.size <= 1000;
  return missing.map((domain) => {
    const nearest = isCheap ? didYouMean(domain, names) : '';
    const remedy = nearest === '' ? ': add it to the domains that the updater of this host fetches' : nearest;
    const message = `there is no policy of the served domain \`${domain}\`${remedy}`;
    return { domain, state: 'missing', error: { code: 'policy-missing', message, at: now } };
  });
}

function noBundle(): PolicyEngineError {
  return new PolicyEngineError('policy-missing', 'there is no bundle to decide by: ask `signet-updater status`');
}

function problemsOf({ problems, overruns: { count } }: DomainPolicy): readonly string[] {
  return count === 0 ? problems : [...problems, `${count} decisions took more work than one may cost and were denied`];
}

function problem(failed: { error: { code: PolicyEngineErrorCode; message: string }; at: number } | undefined): {
  error?: HealthError;
} {
  if (failed === undefined) return {};
  return { error: { code: failed.error.code, message: failed.error.message, at: failed.at } };
}
