import { rmSync } from 'node:fs';
import { readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import {
  createClient,
  type IdentityAgent,
  type IdentityAgentOptions,
  type IdentityOutcome,
  identityPaths,
  openIdentityAgent,
} from '@signet/client';
import type { Clock } from '@signet/policy-engine/clock';
import type { DevState } from '../cli/dev-state.ts';
import type { WorldPaths } from './data-folder.ts';
import { registerPublicKeys } from './ensure-world.ts';
import { type IdentityFiles, isFit, loadLocalAuthority, sampleHost, trustDomain } from './identities.ts';
import { waitUntilKnown } from './server-state.ts';
import { StoppedError } from './start-world.ts';

export interface SampleInstancesDeps {
  readonly paths: WorldPaths;
  readonly identities: DevState['identities'];
  /** URL of the token server, which is running. */
  readonly baseUrl: string;
  readonly clock: Clock;
  /** Prints a warning that stops nothing. */
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

interface Sample {
  readonly name: string;
  /** Links to the certificate and key that its agent wrote last, for other programs. */
  readonly files: IdentityFiles;
  readonly folder: string;
  readonly agent: IdentityAgent;
}

/** An instance of a sample service. */
export interface SampleSpec {
  readonly name: string;
  /** Provider that attests it. */
  readonly provider: string;
  readonly instanceId: string;
  readonly attestation: IdentityAgentOptions['attestation'];
}

/** The sample services, each an instance with a certificate that it got from the token server. */
interface RunningSamples {
  /** Waits until the token server knows their public keys. */
  known(): Promise<void>;
  /** Renews their certificates in time, until the signal fires. */
  keep(signal: AbortSignal): Promise<void>;
}

/** A sample service that registers with a join token that the operator gets for it. */
export function joinTokenSample({ paths, identities, baseUrl }: SampleInstancesDeps, name: string): SampleSpec {
  const operator = identities['sys.auth.operator'];
  if (operator === undefined) throw new Error('identity `sys.auth.operator` does not exist');
  const [domain = '', service = ''] = name.split('.');
  const key = { provider: 'sys.auth.server', domain, service, instanceId: `${domain}-${service}` };
  const files = { caBundle: paths.caBundle, certificate: operator.cert, key: operator.key };
  const joinToken = async () => {
    await using client = createClient({ baseUrl, ...files });
    return await client.instances.joinToken(key);
  };
  return { name, ...key, attestation: async (operation) => (operation === 'register' ? joinToken() : undefined) };
}

/**
 * Registers each of these services as an instance; a certificate that is still good is kept. Throws `StoppedError`, and an error that names the first one that has no certificate at the end of it.
 */
export async function registerSamples(
  deps: SampleInstancesDeps,
  specs: readonly SampleSpec[],
): Promise<RunningSamples> {
  const samples = specs.map((spec) => openSample(deps, spec));
  const authority = await loadLocalAuthority(deps.paths);
  await Promise.all(
    samples.map(async (sample) => {
      const { certificate: cert, key } = identityPaths(sample.folder);
      if (!isFit({ cert, key }, authority, deps.clock.now())) rmSync(sample.folder, { recursive: true, force: true });
      const outcome = await sample.agent.step({ signal: deps.signal });
      if (deps.signal.aborted) throw new StoppedError();
      if (outcome.kind !== 'failed') return linkFiles(sample);
      // The certificate of an earlier start may still be valid, although it is not renewed.
      if (!isFit(sample.files, authority, deps.clock.now())) throw new Error(describeFailure(sample, outcome));
      deps.warn(describeFailure(sample, outcome));
    }),
  );
  const { counter } = await registerPublicKeys(
    deps,
    specs.map(({ name }) => name),
  );
  return {
    known: () => waitUntilKnown(deps, counter),
    keep: async (signal) => {
      await Promise.all(samples.map((sample) => sample.agent.run(signal, (outcome) => report(deps, sample, outcome))));
    },
  };
}

function openSample({ paths, identities, baseUrl, clock }: SampleInstancesDeps, spec: SampleSpec): Sample {
  const { name, provider, instanceId, attestation } = spec;
  const files = identities[name];
  const [domain = '', service = ''] = name.split('.');
  if (files === undefined) throw new Error(`identity \`${name}\` does not exist`);
  const folder = join(paths.identities, name);
  const agent = openIdentityAgent({
    baseUrl,
    caBundle: paths.caBundle,
    clock,
    folder,
    instance: {
      provider,
      domain,
      service,
      instanceId,
      trustDomain,
      ...(name === 'catalog.api' && { hostname: sampleHost }),
    },
    attestation,
  });
  return { name, files, folder, agent };
}

async function report(deps: SampleInstancesDeps, sample: Sample, outcome: IdentityOutcome): Promise<void> {
  try {
    if (outcome.kind === 'failed') deps.warn(describeFailure(sample, outcome));
    if (outcome.kind !== 'registered' && outcome.kind !== 'refreshed') return;
    await linkFiles(sample);
    await registerPublicKeys(deps, [sample.name]);
  } catch (error) {
    deps.warn(`the new key of \`${sample.name}\` cannot be registered: ${String(error)}`);
  }
}

function describeFailure({ name }: Sample, { error }: Extract<IdentityOutcome, { kind: 'failed' }>): string {
  return `no new certificate for \`${name}\`: ${error.serverMessage ?? error.message}`;
}

/** The key first: whoever reads in between finds a pair that does not fit, not one that looks good. */
async function linkFiles({ folder, files }: Sample): Promise<void> {
  const { certificate, key } = identityPaths(folder);
  await replaceByLink(key, files.key);
  await replaceByLink(certificate, files.cert);
}

async function replaceByLink(target: string, path: string): Promise<void> {
  const short = relative(dirname(path), target);
  if ((await readlink(path).catch(() => undefined)) === short) return;
  await rm(`${path}.new`, { force: true });
  await symlink(short, `${path}.new`);
  await rename(`${path}.new`, path);
}
