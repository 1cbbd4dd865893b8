import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allRolesForm, baseOf, type Contender, formTarget, getTarget } from './contenders.ts';

export const signetName = 'ours';

const main = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));
const policies = fileURLToPath(new URL('../../policies', import.meta.url));
const source = '--conditions=@signet/source';

/* Work is counted as always; one certificate that takes a whole processor is what the load is meant to be here. */
const unlimited =
  'budgets: { principal: { workMsPerSecond: 1000000, burstMs: 10000000, inFlight: 1000000, share: 1 } }\n';

/**
 * The real server: made by `signet init`, filled by `signet apply`, started by `signet serve`, all as an operator does it. `more` is added to its
 * configuration, the domains of the folder `documents` to its own.
 */
export async function createSignet(
  folder: string,
  more = '',
  name = signetName,
  documents?: string,
): Promise<Contender> {
  const home = join(folder, 'signet');
  const config = join(home, 'signet.yaml');
  signet('init', home, '--port', '0', '--identity', 'media.studio', 'sys.auth.operator');
  appendFileSync(config, `\n${more}`);
  signet('--config', config, 'apply', policies);
  if (documents !== undefined) signet('--config', config, 'apply', documents);
  appendFileSync(config, unlimited);
  const caller = {
    certificateFile: join(home, 'identities', 'media.studio.cert.pem'),
    keyFile: join(home, 'identities', 'media.studio.key.pem'),
  };
  const base = baseOf(caller, join(home, 'ca', 'bundle.pem'));
  const bundleUrl = (baseUrl: string): string => `${baseUrl}/domain/catalog/policy/signed`;
  return {
    name,
    args: [source, main, '--config', config, 'serve', '--json'],
    token: (baseUrl) => formTarget(base, `${baseUrl}/oauth2/token`, allRolesForm),
    bundle: (baseUrl) => getTarget(base, bundleUrl(baseUrl)),
    unchanged: (baseUrl, etag) => getTarget(base, bundleUrl(baseUrl), etag),
  };
}

function signet(...args: readonly string[]): void {
  execFileSync(process.execPath, [source, main, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}
