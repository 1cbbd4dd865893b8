import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Finished, runProgram } from './run-program.ts';

/** The line that `signet dev --json` prints (DESIGN of the command: everything answers). */
export interface WorldState {
  readonly baseUrl: string;
  readonly managementUrl: string;
  readonly caBundle: string;
  readonly policyDir: string;
  readonly providerUrl: string;
  readonly consoleUrl: string;
  readonly serverPid: number;
  readonly updaterPid: number;
  readonly providerPid: number;
  readonly consolePid: number;
  readonly identities: Readonly<Record<string, { readonly cert: string; readonly key: string }>>;
}

export const repository: string = fileURLToPath(new URL('../..', import.meta.url));

/** Prefix of an `npm install --global` whose programs the tests run instead of those of the checkout. */
const installedPrefix = process.env['SIGNET_TEST_PREFIX'];
const packageAt = (room: string) =>
  installedPrefix === undefined ? join(repository, room) : join(installedPrefix, 'lib/node_modules/@signet', room);

export const signetScript: string = join(packageAt('server'), 'bin/signet.js');
export const updaterScript: string = join(packageAt('updater'), 'bin/signet-updater.js');
export const providerScript: string = join(packageAt('example-provider'), 'bin/signet-example-provider.js');

/** The real `signet dev`, in a process group of its own, with its data in a temporary folder and on free ports. */
export interface DevWorld {
  readonly folder: string;
  readonly process: ChildProcess;
  readonly pid: number;
  readonly state: WorldState;
  /** Standard error so far. */
  errors(): string;
  /** `signet <args>` to its end. */
  signet(...args: readonly string[]): Promise<Finished>;
  /** `curl` as one of the identities; without one, no certificate is shown. */
  curl(identity: string | undefined, ...args: readonly string[]): Promise<{ status: number; body: string }>;
  /** Sends the signal to the whole group, as a terminal does, and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
  /** Stops it if it still runs and removes its folder. */
  remove(): Promise<void>;
}

export async function startDevWorld(
  options: { folder?: string; script?: string; env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<DevWorld> {
  const folder = options.folder ?? join(mkdtempSync(join(tmpdir(), 'signet-world-')), 'data');
  const child = spawn(
    process.execPath,
    [
      options.script ?? signetScript,
      'dev',
      '--json',
      '--data',
      folder,
      '--port',
      '0',
      '--provider-port',
      '0',
      '--console-port',
      '0',
    ],
    {
      cwd: options.cwd ?? repository,
      env: options.env ?? process.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('signet dev cannot be started');
  const state = await firstLine(child, () => errors);
  const world: DevWorld = {
    folder,
    process: child,
    pid,
    state,
    errors: () => errors,
    signet: (...args) => runProgram(process.execPath, [signetScript, ...args], { cwd: repository }),
    curl: (identity, ...args) => curl(state, identity, args),
    stop: async (signal = 'SIGTERM') => {
      killGroup(pid, signal);
      return await ended;
    },
    remove: async () => {
      if (child.exitCode === null && child.signalCode === null) await world.stop();
      rmSync(join(folder, '..'), { recursive: true, force: true });
    },
  };
  return world;
}

function firstLine(child: ChildProcess, errors: () => string): Promise<WorldState> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line) as WorldState));
    child.once('exit', () => reject(new Error(`signet dev ended early: ${errors()}`)));
  });
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // it has ended already
  }
}

async function curl(
  state: WorldState,
  identity: string | undefined,
  args: readonly string[],
): Promise<{ status: number; body: string }> {
  const files = identity === undefined ? undefined : state.identities[identity];
  const as = files === undefined ? [] : ['--cert', files.cert, '--key', files.key];
  const all = [
    '--silent',
    '--show-error',
    '--max-time',
    '20',
    ...as,
    '--cacert',
    state.caBundle,
    '-w',
    '\n%{http_code}',
    ...args,
  ];
  const { stdout, stderr, status } = await runProgram('curl', all);
  const at = stdout.lastIndexOf('\n');
  if (status !== 0) throw new Error(`curl ended with ${String(status)}: ${stderr}`);
  return { status: Number(stdout.slice(at + 1)), body: stdout.slice(0, at) };
}

/** The processes of a group that are still there. */
export async function processesOfGroup(pid: number): Promise<string[]> {
  const { stdout } = await runProgram('ps', ['-eo', 'pgid=,pid=,args=']);
  return stdout.split('\n').filter((line) => line.trim().startsWith(`${pid} `));
}
