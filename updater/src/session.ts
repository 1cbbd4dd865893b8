import type { SignetClient } from '@signet/client';
import type { Clock } from '@signet/policy-engine/clock';
import { bundleFormOf, type UpdaterConfig } from './config/config.ts';
import type { PolicyDirectory } from './files/policy-directory.ts';
import { metricsFile } from './metrics.ts';
import { type RunReport, runOnce } from './run-once.ts';
import { Selection } from './selection.ts';
import type { State } from './state.ts';
import { TrustedKeys } from './trusted-keys.ts';

/** Session of one configuration, until another one replaces it. */
export interface Session {
  readonly config: UpdaterConfig;
  /** `configurationProblem`: why the configuration on disk is not this one. Throws as `runOnce`. */
  run(configurationProblem: string | undefined, signal?: AbortSignal): Promise<RunReport>;
  /** Writes what is known into another directory in the place of the one before. Throws `UpdaterError`. */
  restore(): Promise<void>;
  /** Ends the connections. */
  close(): Promise<void>;
}

/** Dependencies of `openSession`. */
interface SessionDeps {
  readonly config: UpdaterConfig;
  /** Closed with the session. */
  readonly client: SignetClient;
  readonly directory: PolicyDirectory;
  readonly state: State;
  readonly clock: Clock;
}

/** Loads what is remembered of keys and domains. Throws `UpdaterError('storage')`. */
export async function openSession({ config, client, directory, state, clock }: SessionDeps): Promise<Session> {
  const { domains, autoDomains, maxDomains, issuer, maxBundleBytes, athenzBundles = false, baseUrl: server } = config;
  const bundleForm = bundleFormOf(config);
  const keys = await TrustedKeys.load({ client, directory, clock, issuer, isAthenz: athenzBundles });
  const chosen = { bundles: client.bundles, directory, clock, maxDomains, configured: domains };
  const selection = autoDomains === true ? await Selection.load(chosen) : undefined;
  state.askIn(bundleForm);
  const { textfile } = config.metrics;
  const writeMetrics = textfile === undefined ? undefined : metricsFile(textfile);
  const deps = { client, keys, state, directory, clock, domains, selection, writeMetrics };
  const options = { maxBundleBytes, athenzBundles, bundleForm, server };
  return {
    config,
    run: (configurationProblem, signal) => runOnce({ ...deps, ...options, configurationProblem }, signal),
    restore: async () => {
      state.forgetSaved();
      await keys.restore();
      await selection?.restore();
    },
    close: () => client.close(),
  };
}
