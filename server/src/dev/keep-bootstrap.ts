import { setTimeout as pause } from 'node:timers/promises';
import { registerPublicKeys } from './ensure-world.ts';
import { bootstrapServices, ensureIdentities } from './identities.ts';
import type { SampleInstancesDeps } from './sample-instances.ts';

const intervalMs = 3_600_000;

/** Renews the operator's certificate and the server's own identity in time, until the signal fires; failures are said. */
export async function keepBootstrap(deps: SampleInstancesDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(intervalMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await ensureIdentities(deps.paths, deps.clock);
      await registerPublicKeys(deps, bootstrapServices);
    } catch (error) {
      deps.warn(`the certificates of operator and server cannot be renewed: ${String(error)}`);
    }
  }
}
