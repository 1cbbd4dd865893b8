import { addressesOf, hostOf, type ServerConfig } from '../../config/config.ts';
import type { Finding } from '../doctor/finding.ts';
import { certificateFindings } from './certificate-findings.ts';
import { type ConfiguredFiles, openConfiguredFiles } from './configured-files.ts';
import type { FileProblem } from './file-reader.ts';
import { portFindings, secretFindings, storeFindings } from './machine-findings.ts';

/**
 * Checks that a server of this configuration could start and be reached, and for how long: every file, port and database that it names. Nothing
 * is changed. `now` in milliseconds.
 */
export async function checkConfig(config: ServerConfig, now: number): Promise<readonly Finding<string>[]> {
  const files = openConfiguredFiles(config);
  const { baseUrl, basePath } = addressesOf(config, config.listen.port);
  return [
    filesFinding(files),
    ...files.problems.map(problemFinding),
    ...certificateFindings(files, { now, renew: config.tls.renew, baseUrl }),
    ...secretFindings(files.secrets),
    ...addressFindings(config, hostOf(baseUrl), basePath),
    ...(await portFindings(config)),
    ...(await storeFindings(config)),
  ];
}

function filesFinding({ problems }: ConfiguredFiles): Finding<string> {
  const check = 'files';
  if (problems.length === 0) return { check, state: 'ok', found: 'all files in the configuration are usable' };
  const found = `${problems.length} of the files in the configuration are not usable`;
  return { check, state: 'failed', found, advice: 'see below' };
}

function problemFinding({ option, file, problem }: FileProblem): Finding<string> {
  const advice = `correct the file or the option (\`signet config explain ${option}\`)`;
  return { check: option, state: 'failed', found: `\`${file}\` ${problem}`, advice };
}

/** Findings about the address that clients use, as far as it can be judged here. */
function addressFindings({ profile, baseUrl }: ServerConfig, host: string, basePath: string): Finding<string>[] {
  const check = 'baseUrl';
  if (host === '0.0.0.0' || host === '::') {
    const advice = 'set `baseUrl` to the address that clients use';
    return [{ check, state: 'failed', found: `clients cannot connect to \`${host}\``, advice }];
  }
  if (baseUrl !== undefined && basePath !== profile.basePath) {
    const found = `its path is \`${basePath || '/'}\`, that of the profile \`${profile.name}\` is \`${profile.basePath}\``;
    const advice = 'no action if all clients are configured with this path';
    return [{ check, state: 'warning', found, advice }];
  }
  return [];
}
