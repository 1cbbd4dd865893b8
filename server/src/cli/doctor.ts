import { readFileSync } from 'node:fs';
import { createClient, SignetClientError } from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import { checkServerIs } from '@signet/policy-engine/server-identity';
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { type ConnectionOptions, clientSettings, connectionOptions } from './connection.ts';
import { readDevState } from './dev-state.ts';
import { checkCertificate, type IdentityTexts } from './doctor/certificate-checks.ts';
import type { Finding } from './doctor/finding.ts';
import { checkHost } from './doctor/host-checks.ts';
import { checkPolicy } from './doctor/policy-check.ts';
import { probeTls } from './doctor/probe-tls.ts';
import { report } from './doctor/report.ts';
import { checkServer, checkTlsProbe } from './doctor/server-checks.ts';
import { action, configPathOf } from './run.ts';

interface DoctorOptions extends ConnectionOptions {
  readonly policyDir?: string;
  readonly server?: boolean;
  readonly json?: boolean;
}

const timeoutMs = 5000;

/** `signet doctor`: what is wrong with this host's connection to Signet, and what to do about it. */
export function doctorCommand(): Command {
  return connectionOptions(new Command('doctor'))
    .description(
      'check certificate, chain, server, clock, keys and policy, and print what to do; exit status 1 on failure',
    )
    .option('--policy-dir <folder>', 'policy directory of this host (default: that of `npm start`)')
    .option('--server', 'check the configured server instead: database, memory, address, root key')
    .option('--json', 'print JSON')
    .action(
      action(async (options: DoctorOptions, command: Command) => {
        const config = () => loadConfig(configPathOf(command), processEnvironment());
        report(options.server === true ? await checkHost(config()) : await examine(options), options.json);
      }),
    );
}

async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  const { certificate, key, caBundle, baseUrl, ...server } = clientSettings(options);
  const texts = { certificate: readText(certificate), key: readText(key), caBundle: readText(caBundle), ...server };
  const now = systemClock.now();
  const urls = typeof baseUrl === 'string' ? [baseUrl] : baseUrl;
  const findings = [...checkCertificate(texts, now)];
  for (const url of urls) findings.push(...(await checkOneServer(url.replace(/\/+$/, ''), texts, urls.length > 1)));
  const policyDir = options.policyDir ?? knownPolicyDir(options);
  if (policyDir !== undefined) findings.push(...checkPolicy(policyDir, now));
  return findings;
}

async function checkOneServer(
  baseUrl: string,
  texts: IdentityTexts & { readonly serverIdentity?: string },
  isNamed: boolean,
): Promise<readonly Finding[]> {
  const name = (finding: Finding): Finding =>
    isNamed ? { ...finding, found: `${new URL(baseUrl).host}: ${finding.found}` } : finding;
  const checkServerIdentity = checkServerIs(texts.serverIdentity);
  const probe = await probeTls(baseUrl, { ...texts, checkServerIdentity }, timeoutMs);
  const ofConnection = probe === undefined ? [] : checkTlsProbe(probe, systemClock.now());
  try {
    const timeouts = { connectTimeoutMs: timeoutMs, readTimeoutMs: timeoutMs };
    await using client = createClient({ baseUrl, ...texts, ...timeouts, retries: 0 });
    return [...(await checkServer(client, baseUrl)), ...ofConnection].map(name);
  } catch (error) {
    // the files are not an identity: the checks of the files have said so
    if (error instanceof SignetClientError) return ofConnection.map(name);
    throw error;
  }
}

/** A file that cannot be read is as bad as an empty one. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function knownPolicyDir({ data }: DoctorOptions): string | undefined {
  try {
    return readDevState(data).policyDir;
  } catch {
    return undefined;
  }
}
