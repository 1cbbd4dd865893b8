import { setTimeout as pause } from 'node:timers/promises';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { z } from 'zod';
import { writeSchemas } from '../cli/config/schema-files.ts';
import type { DevState } from '../cli/dev-state.ts';
import type { Environment } from '../config/env.ts';
import { type Child, type ChildSpec, startChild } from './child.ts';
import type { WorldPaths } from './data-folder.ts';
import { consoleIdentity } from './identities.ts';
import type { Programs } from './programs.ts';
import { providerConfig, updaterConfig } from './write-configs.ts';

interface StartWorldDeps {
  readonly paths: WorldPaths;
  readonly programs: Programs;
  readonly identities: DevState['identities'];
  readonly environment: Environment;
  /** 0: a free one. */
  readonly providerPort: number;
  /** 0: a free one, which is used also when this one is taken. */
  readonly consolePort: number;
  /** The domains whose policy the provider's host needs. */
  readonly domains: readonly string[];
  /** Prints a warning that does not stop the start. */
  readonly warn: (text: string) => void;
  /** Prints the step that begins. */
  readonly progress: (text: string) => void;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** Timeout of each program's start. */
const readyMs = 60_000;

/** The token server, which answers. */
interface StartedServer {
  readonly baseUrl: string;
  readonly pid: number;
}

/*
 * Every child is in `children` as soon as it runs, so that the caller can stop those of a start that failed. Both functions throw when
 * a program ends or stays silent.
 */

function start(
  { paths, environment }: StartWorldDeps,
  children: Child[],
  spec: Omit<ChildSpec, 'logFile' | 'environment'>,
): Child {
  const logFile = `${paths.logs}/${spec.name.replaceAll(' ', '-')}.log`;
  const child = startChild({ ...spec, logFile, environment });
  children.push(child);
  return child;
}

/** Starts the token server and waits until it answers. */
export async function startTokenServer(deps: StartWorldDeps, children: Child[]): Promise<StartedServer> {
  const server = start(deps, children, {
    name: 'token server',
    script: deps.programs.server,
    args: ['serve', '--config', deps.paths.config, '--json'],
  });
  const { baseUrl } = serverLine.parse(JSON.parse(await answer(server, deps.signal)));
  return { baseUrl, pid: server.pid };
}

/** Starts updater, example provider and console, each when the one before answers, and says what is running. */
export async function startHost(deps: StartWorldDeps, server: StartedServer, children: Child[]): Promise<DevState> {
  const { paths, programs } = deps;
  const { baseUrl } = server;
  await writeSchemas(paths.folder, { force: true });
  await replaceFile(paths.updaterConfig, updaterConfig(deps, baseUrl), { mode: 0o600 });
  await replaceFile(paths.providerConfig, providerConfig(deps, baseUrl), { mode: 0o600 });
  deps.progress('starting the updater, which fetches the signed policy');
  const updater = start(deps, children, {
    name: 'updater',
    script: programs.updater,
    args: ['run', '--config', paths.updaterConfig, '--json'],
  });
  const firstRun = updaterLine.parse(JSON.parse(await answer(updater, deps.signal)));
  if (firstRun.exitStatus !== 0)
    deps.warn(`the updater could not fetch all policy bundles: ${JSON.stringify(firstRun.domains)}`);
  deps.progress('starting the example provider');
  const provider = start(deps, children, {
    name: 'example provider',
    script: programs.provider,
    args: ['--config', paths.providerConfig, '--json'],
  });
  const { url } = urlLine.parse(JSON.parse(await answer(provider, deps.signal)));
  const console_ = startConsole(deps, baseUrl, children);
  const { url: consoleUrl } = urlLine.parse(JSON.parse(await answer(console_, deps.signal)));
  return {
    baseUrl,
    managementUrl: `${new URL(baseUrl).origin}/management/v1`,
    caBundle: paths.caBundle,
    policyDir: paths.policyDir,
    // Addressed by the name of this machine: no certificate of an instance holds a loopback address.
    consoleUrl,
    providerUrl: `https://localhost:${new URL(url).port}`,
    serverPid: server.pid,
    updaterPid: updater.pid,
    providerPid: provider.pid,
    consolePid: console_.pid,
    identities: deps.identities,
  };
}

function startConsole(deps: StartWorldDeps, baseUrl: string, children: Child[]): Child {
  const { cert = '', key = '' } = deps.identities[consoleIdentity] ?? {};
  const identity = ['--cert', cert, '--key', key, '--ca', deps.paths.caBundle, '--url', baseUrl];
  const port = ['--port', String(deps.consolePort), '--lasting', '--json'];
  return start(deps, children, {
    name: 'console',
    script: deps.programs.server,
    args: ['console', ...identity, ...port],
  });
}

const serverLine = z.object({ baseUrl: z.url() });
const updaterLine = z.object({ exitStatus: z.int(), domains: z.record(z.string(), z.string()) });
const urlLine = z.object({ url: z.url() });

/** Waits for the first line of a child, but not when it has ended, when we are to stop, or for ever. */
async function answer(child: Child, signal: AbortSignal): Promise<string> {
  const giveUp = new AbortController();
  const late = pause(readyMs, undefined, { signal: AbortSignal.any([giveUp.signal, signal]) }).then(
    () => Promise.reject(new Error(`${child.name} did not answer within ${readyMs / 1000} s`)),
    () => Promise.reject(new StoppedError()),
  );
  const ended = child.ended.then(({ text }) => Promise.reject(signal.aborted ? new StoppedError() : new Error(text)));
  try {
    return await Promise.race([child.firstLine, ended, late]);
  } finally {
    giveUp.abort();
  }
}

/** We were asked to stop while the programs were starting. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}
