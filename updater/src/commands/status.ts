import type { DomainName } from '@signet/policy-engine/names';
import { type BundleCheck, checkBundle, localKeys } from '../check-bundle.ts';
import type { ExitStatus } from '../exit-status.ts';
import { type DomainReport, describeOverall, isOld, overallStatus } from '../overall-status.ts';
import { domainsOf } from '../selected-domains.ts';
import { State } from '../state.ts';
import { policyDirectory } from '../updater.ts';
import { type DomainStatus, readStatus } from '../updater-status.ts';
import type { CommandContext } from './context.ts';

/** Prints the state on disk and when it was last confirmed; asks nothing of the server. Throws `UpdaterError('unsafe-directory')`. */
export async function status(context: CommandContext): Promise<ExitStatus> {
  const { config, clock, json, print } = context;
  const directory = policyDirectory(config);
  await directory.check();
  const [file, keys, state] = [await readStatus(directory), await localKeys(directory), await State.load(directory)];
  const now = clock.now();
  const domains = await domainsOf(config, directory);
  const { maxBundleBytes, athenzBundles = false } = config;
  const reports = await Promise.all(
    domains.map(async (domain) => {
      const check = await checkBundle({ directory, keys, state, maxBundleBytes, athenzBundles }, domain, now);
      return domainReport(domain, check, file?.domains[domain], now);
    }),
  );
  const overall = overallStatus(reports, file, now);
  const { exitStatus: result, state: word, counts, problems } = overall;
  if (json)
    print(
      JSON.stringify({
        exitStatus: result,
        overall: word,
        counts,
        problems,
        lastRun: file?.lastRun,
        keys: file?.keys,
        certificateExpires: file?.certificateExpires,
        domains: reports,
        unconfigured: file?.unconfigured ?? [],
        selection: file?.selection,
      }),
    );
  else {
    print(describeOverall(overall));
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
  return { domain, state: isOld(last?.lastSuccess, now) ? 'stale' : 'fresh', check, last };
}

function describe({ domain, state, check, last }: DomainReport): string {
  const held = 'version' in check ? `version ${check.epoch}.${check.version}, expires ${check.expires}` : check.message;
  const confirmed = `last confirmed ${last?.lastSuccess ?? 'never'}`;
  const trouble = last?.error === undefined ? '' : `, last error: ${last.error}`;
  return `${domain}: ${state} (${held}), ${confirmed}${trouble}`;
}
