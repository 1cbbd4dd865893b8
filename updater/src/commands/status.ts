import { parseTimestamp } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import { type BundleCheck, checkBundle, localKeys } from '../check-bundle.ts';
import { type ExitStatus, exitStatus, worst } from '../exit-status.ts';
import { State } from '../state.ts';
import { type DomainStatus, readStatus } from '../status.ts';
import { policyDirectory } from '../updater.ts';
import type { CommandContext } from './context.ts';

/** A domain that was not confirmed by the server for this long is stale (ten runs), in milliseconds. */
const staleAfter = 600_000;

interface DomainReport {
  readonly domain: string;
  readonly state: 'fresh' | 'stale' | 'missing' | 'expired' | 'bad';
  readonly check: BundleCheck;
  readonly last: DomainStatus | undefined;
}

const statusOfState: Readonly<Record<DomainReport['state'], ExitStatus>> = {
  fresh: exitStatus.ok,
  stale: exitStatus.refused,
  missing: exitStatus.refused,
  expired: exitStatus.rejected,
  bad: exitStatus.rejected,
};

/** What is on disk and when it was last confirmed; asks nothing of the server. Throws `UpdaterError('unsafe-directory')`. */
export async function status(context: CommandContext): Promise<ExitStatus> {
  const { config, clock, json, print } = context;
  const directory = policyDirectory(config);
  await directory.check();
  const [file, keys, state] = [await readStatus(directory), await localKeys(directory), await State.load(directory)];
  const now = clock.now();
  const { maxBundleBytes, athenzBundles = false } = config;
  const reports = await Promise.all(
    config.domains.map(async (domain) => {
      const check = await checkBundle({ directory, keys, state, maxBundleBytes, athenzBundles }, domain, now);
      return domainReport(domain, check, file?.domains[domain], now);
    }),
  );
  const result = worst(reports.map((report) => statusOfState[report.state]));
  if (json)
    print(
      JSON.stringify({
        exitStatus: result,
        lastRun: file?.lastRun,
        keys: file?.keys,
        certificateExpires: file?.certificateExpires,
        domains: reports,
        unconfigured: file?.unconfigured ?? [],
      }),
    );
  else {
    for (const report of reports) print(describe(report));
    for (const line of file?.keys.leftOut ?? []) print(`keys: ${line}; it is left out`);
  }
  return result;
}

function domainReport(
  domain: DomainName,
  check: BundleCheck,
  last: DomainStatus | undefined,
  now: number,
): DomainReport {
  if (check.state !== 'good') return { domain, state: check.state, check, last };
  const confirmed = last?.lastSuccess === undefined ? undefined : parseTimestamp(last.lastSuccess);
  const isFresh = confirmed !== undefined && now - confirmed <= staleAfter;
  return { domain, state: isFresh ? 'fresh' : 'stale', check, last };
}

function describe({ domain, state, check, last }: DomainReport): string {
  const held = 'version' in check ? `version ${check.epoch}.${check.version}, expires ${check.expires}` : check.message;
  const confirmed = `last confirmed ${last?.lastSuccess ?? 'never'}`;
  const trouble = last?.error === undefined ? '' : `, last error: ${last.error}`;
  return `${domain}: ${state} (${held}), ${confirmed}${trouble}`;
}
