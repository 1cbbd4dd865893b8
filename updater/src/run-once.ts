import { type SignetClient, SignetClientError } from '@signet/client';
import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import type { BundleForm } from './config/config.ts';
import { type ExitStatus, exitStatus, statusOfOutcome, worst } from './exit-status.ts';
import { bundleName, type PolicyDirectory } from './files/policy-directory.ts';
import type { Outcome } from './outcome.ts';
import { allDomains, nothingToFollow, type SelectedDomains } from './selected-domains.ts';
import type { Selection, SelectionChange } from './selection.ts';
import type { State } from './state.ts';
import type { TrustedKeys } from './trusted-keys.ts';
import { outcomeOf, updateDomain } from './update-domain.ts';
import { UpdaterError } from './updater-errors.ts';
import { domainStatus, readStatus, type Status, unconfiguredDomains, writeStatus } from './updater-status.ts';

interface RunDeps {
  readonly client: SignetClient;
  readonly keys: TrustedKeys;
  readonly state: State;
  readonly directory: PolicyDirectory;
  readonly clock: Clock;
  /** Configured domains. */
  readonly domains: readonly DomainName[];
  /** Selected domains; absent: no others. */
  readonly selection: Selection | undefined;
  /** Error of the configuration on disk, which is not in use then. */
  readonly configurationProblem: string | undefined;
  readonly maxBundleBytes: number;
  readonly athenzBundles: boolean;
  readonly bundleForm: BundleForm;
  /** Server, for the status file. */
  readonly server: string;
  /** Writes the metrics of a run; absent if none are wanted. */
  readonly writeMetrics?: ((status: Status, now: number) => Promise<void>) | undefined;
}

/** Result of one run over all domains. */
export interface RunReport {
  readonly outcomes: ReadonlyMap<DomainName, Outcome>;
  /** Domains that were selected or dropped automatically. */
  readonly selected: SelectionChange | undefined;
  readonly status: Status;
  /** Problem of a host without any domain. */
  readonly idle?: string;
  /** Problems beside the domains, e.g. the status file could not be written, or a leftover not removed. */
  readonly problems: readonly string[];
  readonly exitStatus: ExitStatus;
  /** Time before which the server does not want to be asked again (ms since the epoch). */
  readonly notBefore: number | undefined;
}

/** Number of domains in a row without an answer after which the others are not requested in this run. */
const givenUpAfter = 2;

/**
 * Runs once: keys, which domains, then one domain after the other over one kept-alive connection, then the status file. A domain that fails does
 * not stop the others. Throws `UpdaterError('unsafe-directory')`, and `storage` when the directory cannot be read at all.
 */
export async function runOnce(deps: RunDeps, signal?: AbortSignal): Promise<RunReport> {
  const { directory, keys, clock } = deps;
  await directory.check();
  const problems: string[] = [];
  await noteProblem(problems, () => directory.removeLeftovers());
  await keys.refresh(signal);
  const { selection } = deps;
  const away = keys.problem instanceof SignetClientError ? keys.problem : undefined;
  const selected = await selection?.refresh(away, signal);
  const outcomes = await updateAll(deps, signal);
  await noteProblem(problems, () => deps.state.save());
  const status = await buildStatus(deps, outcomes);
  await noteProblem(problems, () => writeStatus(directory, status));
  await noteProblem(problems, async () => deps.writeMetrics?.(status, clock.now()));
  const own = problems.length > 0 || keys.problem instanceof UpdaterError ? exitStatus.storage : exitStatus.ok;
  const isIdle = outcomes.size === 0 && selection === undefined && signal?.aborted !== true;
  const ofKeys = keys.problem?.code === 'keys-replaced' ? exitStatus.rejected : exitStatus.ok;
  return {
    outcomes,
    selected,
    status,
    problems,
    ...(isIdle && { idle: nothingToFollow }),
    exitStatus: worst([
      own,
      ofKeys,
      isIdle ? exitStatus.refused : ofSelection(selection),
      ...[...outcomes.values()].map(statusOfOutcome),
    ]),
    notBefore: earliestReturn([...outcomes.values(), ...(selection?.failure ? [selection.failure] : [])], clock.now()),
  };
}

function ofSelection(selection: Selection | undefined): ExitStatus {
  if (selection?.failure !== undefined) return statusOfOutcome(selection.failure);
  return selection?.facts.problem === undefined ? exitStatus.ok : exitStatus.refused;
}

async function noteProblem(problems: string[], act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof UpdaterError) || error.code !== 'storage') throw error;
    problems.push(error.message);
  }
}

async function updateAll(deps: RunDeps, signal: AbortSignal | undefined): Promise<Map<DomainName, Outcome>> {
  const outcomes = new Map<DomainName, Outcome>();
  // without a single key nothing could be verified: the key problem is the verdict
  let verdict = deps.keys.facts.kids.length === 0 && deps.keys.problem ? outcomeOf(deps.keys.problem) : undefined;
  verdict ??= deps.selection?.failure && postponedBy(deps.selection.failure);
  let unanswered = 0;
  for (const domain of domainsOf(deps)) {
    const outcome = verdict ?? (await updateDomain({ ...deps, bundles: deps.client.bundles }, domain, signal));
    outcomes.set(domain, outcome);
    unanswered = outcome.kind === 'unreachable' ? unanswered + 1 : 0;
    if (unanswered >= givenUpAfter || signal?.aborted) verdict = outcome;
    verdict ??= postponedBy(outcome);
  }
  return outcomes;
}

function domainsOf({ domains, selection }: RunDeps): readonly DomainName[] {
  const none: SelectedDomains = new Map();
  return allDomains(domains, selection?.domains ?? none);
}

/** Outcome for the domains that were not requested after this one. */
function postponedBy(outcome: Outcome): Outcome | undefined {
  if (outcome.kind !== 'refused' || outcome.retryAfterSeconds === undefined) return undefined;
  return { kind: 'postponed', message: `the server requested a retry in ${outcome.retryAfterSeconds} seconds` };
}

function earliestReturn(outcomes: readonly Outcome[], now: number): number | undefined {
  const delays = outcomes.flatMap((outcome) =>
    outcome.kind === 'refused' && outcome.retryAfterSeconds !== undefined ? [outcome.retryAfterSeconds] : [],
  );
  return delays.length === 0 ? undefined : now + Math.max(...delays) * 1000;
}

async function buildStatus(deps: RunDeps, outcomes: ReadonlyMap<DomainName, Outcome>): Promise<Status> {
  const { directory, keys, clock } = deps;
  const before = await readStatus(directory);
  const now = clock.now();
  const names = await directory.list();
  const present = new Set(names);
  const { kids, leftOut, fetchedAt, error } = keys.facts;
  const identity = await deps.client.identity();
  return {
    server: deps.server,
    pid: process.pid,
    lastRun: formatTimestamp(now),
    certificateExpires: formatTimestamp(identity.notAfter),
    keys: {
      kids: [...kids],
      ...(leftOut.length > 0 && { leftOut: [...leftOut] }),
      ...(fetchedAt !== undefined && { fetched: formatTimestamp(fetchedAt) }),
      ...(error !== undefined && { error }),
    },
    domains: Object.fromEntries(
      [...outcomes].map(([domain, outcome]) => {
        const onDisk = present.has(bundleName(domain)) ? before?.domains[domain] : undefined;
        return [domain, domainStatus(onDisk, outcome, now)];
      }),
    ),
    unconfigured: unconfiguredDomains(names, domainsOf(deps)),
    ...(deps.selection !== undefined && { selection: selectionStatus(deps.selection) }),
    ...(deps.configurationProblem !== undefined && { configurationError: deps.configurationProblem }),
  };
}

function selectionStatus({ domains, facts }: Selection): NonNullable<Status['selection']> {
  const { confirmedAt, problem } = facts;
  const leaving = [...domains].flatMap(([name, since]) =>
    since === undefined ? [] : [[name, formatTimestamp(since)]],
  );
  return {
    domains: domains.size,
    ...(confirmedAt !== undefined && { confirmed: formatTimestamp(confirmedAt) }),
    ...(leaving.length > 0 && { notNamedSince: Object.fromEntries(leaving) }),
    ...(problem !== undefined && { error: problem }),
  };
}
