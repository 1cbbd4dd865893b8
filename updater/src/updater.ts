import { createClient, type SignetClient, SignetClientError } from '@signet/client';
import type { Clock } from '@signet/policy-engine/clock';
import { bundleFormOf, type UpdaterConfig } from './config/config.ts';
import { systemCode, UpdaterError } from './errors.ts';
import { type FileSystem, nodeFileSystem } from './files/file-system.ts';
import { lockDirectory } from './files/lock.ts';
import { PolicyDirectory } from './files/policy-directory.ts';
import { metricsFile } from './metrics.ts';
import { type RunReport, runOnce } from './run-once.ts';
import { State } from './state.ts';
import { TrustedKeys } from './trusted-keys.ts';

/** An updater that holds its policy directory. */
export interface Updater extends AsyncDisposable {
  readonly state: State;
  /**
   * One run over all domains; never two at once, which is the caller's duty. A directory that was put in the place of the one before is
   * taken first. Throws as `openUpdater` and `runOnce`.
   */
  run(signal?: AbortSignal): Promise<RunReport>;
  /** Ends the connections and gives the directory back. */
  close(): Promise<void>;
}

/** What `openUpdater` works with. */
interface OpenUpdaterOptions {
  readonly config: UpdaterConfig;
  readonly clock: Clock;
  /** By default the machine's. */
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

/** The client names the option whose file cannot be used; whoever has to correct it needs the file and the reason too. */
function identityProblem(config: UpdaterConfig, { message, cause }: SignetClientError): string {
  const [, option, problem = ''] = /^(certificate|key|caBundle) (.*)$/.exec(message) ?? [];
  if (option !== 'certificate' && option !== 'key' && option !== 'caBundle') return message;
  const reason = problem === 'cannot be read' ? ` (${systemCode(cause) ?? 'no text'})` : '';
  return `${option}: \`${config[option]}\` ${problem}${reason}`;
}

/**
 * Takes the policy directory and loads what was remembered. Throws `UpdaterError`: `configuration` for identity files that
 * cannot be used, `unsafe-directory`, `locked`, `storage`.
 */
export async function openUpdater(options: OpenUpdaterOptions): Promise<Updater> {
  const { config, clock, files = nodeFileSystem } = options;
  const directory = policyDirectory(config, files);
  await directory.prepare();
  let lock = await lockDirectory(config.policyDir, files);
  try {
    const client = connect(config, clock);
    const bundleForm = bundleFormOf(config);
    const state = await State.load(directory, bundleForm);
    const { domains, issuer, maxBundleBytes, athenzBundles = false, baseUrl: server } = config;
    const keys = await TrustedKeys.load({ client, directory, clock, issuer, isAthenz: athenzBundles });
    const { textfile } = config.metrics;
    const writeMetrics = textfile === undefined ? undefined : metricsFile(textfile);
    const bounds = { maxBundleBytes, athenzBundles, bundleForm };
    const deps = { client, keys, state, directory, clock, domains, server, writeMetrics, ...bounds };
    const close = async () => {
      await client.close();
      await lock[Symbol.asyncDispose]();
    };
    const run = async (signal?: AbortSignal) => {
      if (!(await lock.isInPlace())) {
        await lock[Symbol.asyncDispose]();
        await directory.prepare();
        lock = await lockDirectory(config.policyDir, files);
        // What is known of keys and floors holds there as well.
        state.forgetSaved();
        await keys.restore();
      }
      return await runOnce(deps, signal);
    };
    return { state, run, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}
