import { isDeepStrictEqual } from 'node:util';
import { createClient, type SignetClient, SignetClientError } from '@signet/client';
import type { Clock } from '@signet/policy-engine/clock';
import { bundleFormOf, type UpdaterConfig } from './config/config.ts';
import { type FileSystem, nodeFileSystem } from './files/file-system.ts';
import { type DirectoryLock, lockDirectory } from './files/lock.ts';
import { PolicyDirectory } from './files/policy-directory.ts';
import type { RunReport } from './run-once.ts';
import { openSession, type Session } from './session.ts';
import { State } from './state.ts';
import { UpdaterError } from './updater-errors.ts';

/** An updater that holds its policy directory. */
export interface Updater extends AsyncDisposable {
  readonly state: State;
  /**
   * Runs once over all domains; the caller's duty is never to run two at once. A directory that replaced the one before is opened first. Throws
   * as `openUpdater` and `runOnce`.
   */
  run(signal?: AbortSignal): Promise<RunReport>;
  /**
   * Works with what `load` answers from the next run on, and answers it where it differs. What cannot be used is thrown, said in the status file
   * and leaves everything as it is. Throws `UpdaterError`.
   */
  reconfigure(load: () => UpdaterConfig): Promise<UpdaterConfig | undefined>;
  /** Ends the connections and releases the directory. */
  close(): Promise<void>;
}

/** Dependencies of `openUpdater`. */
interface OpenUpdaterOptions {
  readonly config: UpdaterConfig;
  readonly clock: Clock;
  /** File system; default: the machine's. */
  readonly files?: FileSystem;
}

/** The policy directory of a configuration. */
export function policyDirectory(config: UpdaterConfig, files: FileSystem = nodeFileSystem): PolicyDirectory {
  return new PolicyDirectory(config.policyDir, files, process.geteuid?.());
}

/** A client with the updater's certificate. Throws `UpdaterError('configuration')`. */
export function connect(config: UpdaterConfig, clock: Clock): SignetClient {
  const { baseUrl, certificate, key, caBundle, connectTimeoutMs, readTimeoutMs, maxBundleBytes } = config;
  try {
    return createClient({
      baseUrl,
      certificate,
      key,
      caBundle,
      connectTimeoutMs,
      readTimeoutMs,
      maxBundleBytes,
      clock,
      // the domains are fetched one after the other
      maxConnections: 1,
      // the schedule repeats what failed
      retries: 0,
      ...(config.serverIdentity !== undefined && { serverIdentity: config.serverIdentity }),
      ...(config.proxy !== undefined && { proxy: config.proxy }),
      ...(config.noProxy !== undefined && { noProxy: config.noProxy }),
    });
  } catch (error) {
    if (!(error instanceof SignetClientError)) throw error;
    throw new UpdaterError('configuration', identityProblem(config, error), { cause: error });
  }
}

/** Error in the form of the configuration: option, file, problem. The message of the client may name the file already. */
function identityProblem(config: UpdaterConfig, { message }: SignetClientError): string {
  const [, option, problem = ''] = /^(certificate|key|caBundle) (?:`[^`]*` )?(.*)$/.exec(message) ?? [];
  if (option !== 'certificate' && option !== 'key' && option !== 'caBundle') return message;
  return `${option}: \`${config[option]}\` ${problem}`;
}

/**
 * Locks the policy directory and loads the state. Throws `UpdaterError`: `configuration` for identity files that cannot be used,
 * `unsafe-directory`, `locked`, `storage`.
 */
export async function openUpdater(options: OpenUpdaterOptions): Promise<Updater> {
  const { config, clock, files = nodeFileSystem } = options;
  const directory = policyDirectory(config, files);
  await directory.prepare();
  const lock = await lockDirectory(config.policyDir, files);
  try {
    const client = connect(config, clock);
    const state = await State.load(directory, bundleFormOf(config));
    const session = await openSession({ config, clock, client, directory, state });
    return new DirectoryUpdater(
      { options, directory, state, lock: () => lockDirectory(config.policyDir, files) },
      lock,
      session,
    );
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}

interface DirectoryUpdaterDeps {
  readonly options: OpenUpdaterOptions;
  readonly directory: PolicyDirectory;
  readonly state: State;
  /** Locks the directory that the path leads to now. */
  readonly lock: () => Promise<DirectoryLock>;
}

class DirectoryUpdater implements Updater {
  readonly state: State;
  readonly #deps: DirectoryUpdaterDeps;
  #lock: DirectoryLock;
  #session: Session;
  /** Configuration and client of the next run. */
  #next: { readonly config: UpdaterConfig; readonly client: SignetClient } | undefined;
  /** The configuration that was accepted last. */
  #accepted: UpdaterConfig;
  #problem: string | undefined;

  constructor(deps: DirectoryUpdaterDeps, lock: DirectoryLock, session: Session) {
    this.state = deps.state;
    this.#deps = deps;
    this.#lock = lock;
    this.#session = session;
    this.#accepted = session.config;
  }

  async run(signal?: AbortSignal): Promise<RunReport> {
    await this.#takeNext();
    if (!(await this.#lock.isInPlace())) {
      await this.#lock[Symbol.asyncDispose]();
      await this.#deps.directory.prepare();
      this.#lock = await this.#deps.lock();
      // Known keys and floors hold there as well.
      await this.#session.restore();
    }
    return await this.#session.run(this.#problem, signal);
  }

  async reconfigure(load: () => UpdaterConfig): Promise<UpdaterConfig | undefined> {
    const { config, clock } = this.#deps.options;
    try {
      const wanted = load();
      if (wanted.policyDir !== config.policyDir) {
        throw new UpdaterError('configuration', 'policyDir: another directory needs a restart');
      }
      const isNew = !isDeepStrictEqual(wanted, this.#accepted);
      if (isNew) {
        const dropped = this.#next?.client;
        this.#next = { config: wanted, client: connect(wanted, clock) };
        this.#accepted = wanted;
        await dropped?.close();
      }
      this.#problem = undefined;
      return isNew ? wanted : undefined;
    } catch (error) {
      if (error instanceof UpdaterError) this.#problem = error.message;
      throw error;
    }
  }

  async #takeNext(): Promise<void> {
    const next = this.#next;
    if (next === undefined) return;
    const { options, directory, state } = this.#deps;
    // Another reload may come meanwhile.
    this.#next = undefined;
    try {
      const session = await openSession({ clock: options.clock, directory, state, ...next });
      await this.#session.close();
      this.#session = session;
    } catch (error) {
      if (this.#next === undefined) this.#next = next;
      else await next.client.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#next?.client.close();
    await this.#session.close();
    await this.#lock[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
