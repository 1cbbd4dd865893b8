import { formatTimestamp } from '@signet/policy-engine/clock';
import { checkBundle, localKeys } from '../check-bundle.ts';
import { type ExitStatus, exitStatus, worst } from '../exit-status.ts';
import { domainsOf, nothingToFollow } from '../selected-domains.ts';
import { State } from '../state.ts';
import { connect, policyDirectory } from '../updater.ts';
import type { CommandContext } from './context.ts';

/** Checks configuration, identity files, policy directory and every bundle on disk; asks nothing of the server. */
export async function check(context: CommandContext): Promise<ExitStatus> {
  const { config, clock, json, print } = context;
  await using client = connect(config, clock);
  const { subject, notAfter } = await client.identity();
  const directory = policyDirectory(config);
  await directory.check();
  const deps = {
    directory,
    keys: await localKeys(directory),
    state: await State.load(directory),
    maxBundleBytes: config.maxBundleBytes,
    athenzBundles: config.athenzBundles === true,
  };
  const domains = await domainsOf(config, directory);
  const now = clock.now();
  const found = await Promise.all(
    domains.map(async (domain) => ({ domain, ...(await checkBundle(deps, domain, now)) })),
  );
  const identity = { subject, expires: formatTimestamp(notAfter), isExpired: notAfter <= now };
  const statuses = found.map(({ state }) => {
    if (state === 'good') return exitStatus.ok;
    return state === 'missing' ? exitStatus.refused : exitStatus.rejected;
  });
  const isIdle = domains.length === 0;
  if (isIdle) statuses.push(exitStatus.refused);
  const result = worst([...statuses, identity.isExpired ? exitStatus.usage : exitStatus.ok]);
  if (json) {
    print(JSON.stringify({ exitStatus: result, identity, domains: found }));
    return result;
  }
  print(`certificate: ${identity.isExpired ? 'expired' : 'valid until'} ${identity.expires}`);
  if (isIdle) print(config.autoDomains === true ? 'no domain names this host yet' : nothingToFollow);
  for (const one of found) {
    const detail =
      'version' in one ? `version ${one.epoch}.${one.version}, expires ${one.expires}, key ${one.kid}` : one.message;
    print(`${one.domain}: ${one.state} (${detail})`);
  }
  return result;
}
