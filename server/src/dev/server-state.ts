import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { secureClientOptions } from '@signet/policy-engine/http';
import { checkServerIs } from '@signet/policy-engine/server-identity';
import { Agent, request } from 'undici';
import { z } from 'zod';
import type { DevState } from '../cli/dev-state.ts';
import type { WorldPaths } from './data-folder.ts';
import { StoppedError } from './start-world.ts';

const stateSchema = z.object({ snapshot: z.object({ counter: z.int() }) });

const intervalMs = 100;
/** Deadline, longer than a server may take to poll its store. */
const deadlineMs = 65_000;

/** Operators alone are told what a server answers from. */
function agentOfOperator({
  paths,
  identities,
}: {
  readonly paths: WorldPaths;
  readonly identities: DevState['identities'];
}) {
  const operator = identities['sys.auth.operator'];
  if (operator === undefined) throw new Error('identity `sys.auth.operator` does not exist');
  const files = { ca: paths.caBundle, cert: operator.cert, key: operator.key };
  const texts = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, readFileSync(file, 'utf8')]));
  return new Agent({ connect: { ...secureClientOptions, ...texts, checkServerIdentity: checkServerIs() } });
}

/**
 * Waits until the server answers from a snapshot that is at least this new. Throws
 * `StoppedError`, and when it does not answer or never gets there.
 */
export async function waitUntilKnown(
  deps: {
    readonly paths: WorldPaths;
    readonly identities: DevState['identities'];
    readonly baseUrl: string;
    readonly signal: AbortSignal;
  },
  counter: number,
): Promise<void> {
  const agent = agentOfOperator(deps);
  try {
    for (let left = deadlineMs / intervalMs; left > 0 && !deps.signal.aborted; left -= 1) {
      const { body } = await request(`${deps.baseUrl}/readyz`, { dispatcher: agent, signal: deps.signal });
      const { snapshot } = stateSchema.parse(await body.json());
      if (snapshot.counter >= counter) return;
      await pause(intervalMs, undefined, { signal: deps.signal });
    }
    throw new Error('the token server does not load changes');
  } catch (error) {
    throw deps.signal.aborted ? new StoppedError() : error;
  } finally {
    await agent.destroy();
  }
}
