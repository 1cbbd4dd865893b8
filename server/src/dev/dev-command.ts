import { systemClock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { Command } from 'commander';
import type { DevState } from '../cli/dev-state.ts';
import { profileOf } from '../cli/init/profile-option.ts';
import { parsePort } from '../cli/parse-port.ts';
import { action, describeError, print } from '../cli/run.ts';
import { stopSignal } from '../cli/stop-signal.ts';
import { type Environment, processEnvironment } from '../config/env.ts';
import { announcement } from './announce.ts';
import { attestedSample, mayProviderVouch } from './attested-instances.ts';
import type { Child } from './child.ts';
import { lockDataFolder, openDataFolder, type WorldPaths, worldPaths } from './data-folder.ts';
import { ensureWorld } from './ensure-world.ts';
import { sampleInstances } from './identities.ts';
import { keepBootstrap } from './keep-bootstrap.ts';
import { attestedService, attestingProvider } from './machines.ts';
import { parentWatch } from './parent-watch.ts';
import { findPrograms, programFor } from './programs.ts';
import { joinTokenSample, registerSamples, type SampleInstancesDeps } from './sample-instances.ts';
import { StoppedError, startHost, startTokenServer } from './start-world.ts';

interface DevOptions {
  readonly data: string;
  readonly port: number;
  readonly providerPort: number;
  readonly consolePort: number;
  readonly json?: boolean;
}

/** Deadline for a program to end in order; all of them end at once. */
const graceMs = 9000;

/** `signet dev`: the whole system on this machine. What `npm start` runs. */
export function devCommand(): Command {
  return new Command('dev')
    .description('run token server, updater, example provider and console with sample data until Ctrl-C')
    .option('--data <folder>', 'folder for all files; created on first start', '.signet')
    .option('--port <number>', 'port of the token server; 0 selects a free port', parsePort, 4443)
    .option('--provider-port <number>', 'port of the example provider; 0 selects a free port', parsePort, 4444)
    .option(
      '--console-port <number>',
      'port of the console; 0 selects a free port, as does one that is taken',
      parsePort,
      4445,
    )
    .option('--json', 'print one line of JSON when all programs are ready')
    .action(action(runDev));
}

async function runDev(options: DevOptions): Promise<void> {
  using stop = stopSignal();
  using watch = parentWatch(processEnvironment());
  const signal = AbortSignal.any([stop.signal, watch.signal]);
  const paths = worldPaths(options.data);
  // Refused before anything is made.
  const profile = profileOf(processEnvironment());
  openDataFolder(paths);
  using _lock = lockDataFolder(paths);
  const children: Child[] = [];
  try {
    await runWorld({ paths, profile, options }, children, signal);
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error;
  } finally {
    await Promise.all(children.map((child) => child.stop(graceMs)));
  }
}

interface DevWorld {
  readonly paths: WorldPaths;
  /** Profile that the environment says. */
  readonly profile: ReturnType<typeof profileOf>;
  readonly options: DevOptions;
}

/** Runs the world until the signal. */
async function runWorld({ paths, profile, options }: DevWorld, children: Child[], signal: AbortSignal): Promise<void> {
  const programs = findPrograms();
  const warn = (text: string) => process.stderr.write(`signet: ${text}\n`);
  // A program that reads the JSON line waits for it; people see what they wait for.
  const progress = options.json === true ? () => undefined : warn;
  progress(`preparing ${paths.folder}: authority, keys, sample policies (created at the first start)`);
  const environment = withoutProxy(processEnvironment());
  const { policies } = programs;
  const world = await ensureWorld({ paths, policies, port: options.port, profile, clock: systemClock });
  const { providerPort, consolePort } = options;
  const domains = ['catalog'];
  const deps = { paths, programs, environment, providerPort, consolePort, signal, warn, progress, domains, ...world };
  progress('starting the token server');
  const server = await startTokenServer(deps, children);
  const start = () => startHost(deps, server, children);
  const sampleDeps = { ...deps, baseUrl: server.baseUrl, clock: systemClock };
  const { state, attested, samples } = await startSamples(sampleDeps, start);
  await replaceFile(paths.state, `${JSON.stringify(state)}\n`, { mode: 0o600 });
  announce(state, paths, options, attested);
  for (const child of children) void reportEnd(child, paths, signal);
  await Promise.all([keepBootstrap(sampleDeps, signal), ...samples.map((running) => running.keep(signal))]);
}

const noVoucher = `the policies in this folder are out of date: \`${attestingProvider}\` may not vouch for \`${attestedService}\`, which registers with a join token (\`signet apply policies\` brings them up to date)`;

/**
 * The services of the provider's host get their certificates first; then the provider runs, and vouches for the machine of the
 * service that calls it.
 */
async function startSamples(
  deps: SampleInstancesDeps & { readonly progress: (text: string) => void },
  startHost: () => Promise<DevState>,
) {
  deps.progress('requesting certificates for the sample services');
  const attested = await mayProviderVouch(deps);
  if (!attested) deps.warn(noVoucher);
  const byToken = sampleInstances.filter((name) => !attested || name !== attestedService);
  const first = await registerSamples(
    deps,
    byToken.map((name) => joinTokenSample(deps, name)),
  );
  const [state] = await Promise.all([startHost(), first.known()]);
  if (!attested) return { state, attested, samples: [first] };
  try {
    const second = await registerSamples(deps, [await attestedSample(deps, state.providerUrl)]);
    await second.known();
    return { state, attested, samples: [first, second] };
  } catch (error) {
    if (error instanceof StoppedError) throw error;
    deps.warn(`the provider was not called (${describeError(error)}): using a join token`);
    const second = await registerSamples(deps, [joinTokenSample(deps, attestedService)]);
    return { state, attested: false, samples: [first, second] };
  }
}

/** Environment without proxies, none of which leads to this machine. */
function withoutProxy(environment: Environment): Environment {
  const given = environment['NO_PROXY'] ?? environment['no_proxy'] ?? '';
  const noProxy = [given, '127.0.0.1', 'localhost'].filter((each) => each !== '').join(',');
  return { ...environment, NO_PROXY: noProxy, no_proxy: noProxy };
}

function announce(state: DevState, paths: WorldPaths, options: DevOptions, attested: boolean): void {
  const working = process.cwd();
  if (options.json === true) print(state, true);
  else print(announcement(state, { data: paths.folder, working, program: programFor(working) }, attested), false);
}

/** Reports a program that ended unasked; the others go on, as they would on their own machines. */
async function reportEnd(child: Child, paths: WorldPaths, signal: AbortSignal): Promise<void> {
  const { text } = await child.ended;
  if (!signal.aborted)
    process.stderr.write(`signet: ${text} (the other programs keep running; logs are in ${paths.logs})\n`);
}
