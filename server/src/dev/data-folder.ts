import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { refuseOthersFolder } from '../cli/own-folder.ts';
import { UsageError } from '../cli/run.ts';

/** The files of a world of `signet dev`, all below one folder; absolute paths. */
export interface WorldPaths {
  readonly folder: string;
  readonly config: string;
  readonly schemas: string;
  readonly dataDir: string;
  readonly ca: string;
  readonly caBundle: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  readonly identities: string;
  /** The secrets of the machines that the example provider vouches for. */
  readonly machines: string;
  readonly policyDir: string;
  readonly updaterConfig: string;
  readonly providerConfig: string;
  /** State file of the running world, for people and programs. */
  readonly state: string;
  /** Mark of a completed world. */
  readonly complete: string;
  readonly lock: string;
  readonly logs: string;
}

export function worldPaths(folder: string): WorldPaths {
  const at = (...parts: string[]) => join(resolve(folder), ...parts);
  return {
    folder: at(),
    config: at('signet.yaml'),
    schemas: at('schemas'),
    dataDir: at('data'),
    ca: at('ca'),
    caBundle: at('ca', 'bundle.pem'),
    serverCertificate: at('server.cert.pem'),
    serverKey: at('server.key.pem'),
    identities: at('identities'),
    machines: at('machines'),
    policyDir: at('policy'),
    updaterConfig: at('updater.yaml'),
    providerConfig: at('provider.yaml'),
    state: at('dev.json'),
    complete: at('complete.json'),
    lock: at('dev.lock'),
    logs: at('logs'),
  };
}

/** Makes the folders, readable by their owner only. Throws `UsageError` when the folder holds something that is not ours. */
export function openDataFolder(paths: WorldPaths): void {
  mkdirSync(paths.folder, { recursive: true, mode: 0o700 });
  const found = readdirSync(paths.folder);
  // An empty folder cannot have been prepared by another user; a folder of another user cannot be closed to him.
  if (found.length > 0) refuseOthersFolder(paths.folder, 'use `--data` with a folder that you own');
  if (found.length > 0 && !found.some((name) => name === 'dev.lock' || name === 'signet.yaml')) {
    throw new UsageError(`folder \`${paths.folder}\` contains files that signet dev did not create`);
  }
  chmodSync(paths.folder, 0o700);
  // The updater makes its files as readable as their folder is.
  for (const folder of [paths.logs, paths.identities, paths.machines, paths.dataDir, paths.policyDir])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** Locks a folder for one `signet dev`. Throws when another live one uses it; dispose it to release the folder. */
export function lockDataFolder(paths: WorldPaths): Disposable {
  const owner = readOwner(paths.lock);
  if (owner !== undefined && isAlive(owner)) {
    throw new Error(
      `folder \`${paths.folder}\` is used by process ${owner} (if that is not \`signet dev\`, remove ${paths.lock})`,
    );
  }
  rmSync(paths.lock, { force: true });
  try {
    writeFileSync(paths.lock, `${process.pid}\n`, { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    throw new Error(`folder \`${paths.folder}\` cannot be locked`, { cause });
  }
  return { [Symbol.dispose]: () => rmSync(paths.lock, { force: true }) };
}

function readOwner(lock: string): number | undefined {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    return Number.isInteger(pid) && pid > 0 && pid !== process.pid ? pid : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
