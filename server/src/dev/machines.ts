import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '@signet/policy-engine/internal/files';
import type { WorldPaths } from './data-folder.ts';

/*
 * The machines that the example provider knows, each by a secret that it was given when it was set up. One is that of the running sample
 * service; the other is there to be registered by hand.
 */

/** The provider that is called out to, and the sample service whose machines it vouches for. */
export const attestingProvider = 'catalog.api';
export const attestedService = 'media.player';

/** Ids of the machines: of the sample service, and of the one to try by hand. */
export const machineIds = { own: 'media-player', spare: 'media-player-2' } as const;

/** File of a machine's secret, readable for its owner only. */
export function secretFile({ machines }: Pick<WorldPaths, 'machines'>, id: string): string {
  return join(machines, `${id}.secret`);
}

/** Makes the secrets that are missing. */
export async function ensureMachines(paths: WorldPaths): Promise<void> {
  for (const id of Object.values(machineIds)) {
    const file = secretFile(paths, id);
    if (!existsSync(file)) await replaceFile(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  }
}

/** Settings of the example provider for them: digests only. */
export function attestationSettings(paths: WorldPaths): Record<string, unknown> {
  const machine = (id: string) => {
    const secret = readFileSync(secretFile(paths, id), 'utf8').trim();
    return [id, { service: attestedService, secretSha256: createHash('sha256').update(secret).digest('hex') }];
  };
  return { provider: attestingProvider, machines: Object.fromEntries(Object.values(machineIds).map(machine)) };
}
