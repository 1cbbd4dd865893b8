import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@signet/client';
import { parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { unchanged } from '../model/domain-change.ts';
import type { ServiceRecord } from '../model/records.ts';
import type { StoreState } from '../model/store.ts';
import { diffLists } from '../store/diff-domains.ts';
import { openStore } from '../store/open.ts';
import { attestedService, attestingProvider, machineIds, secretFile } from './machines.ts';
import type { SampleInstancesDeps, SampleSpec } from './sample-instances.ts';
import { waitUntilKnown } from './server-state.ts';

/**
 * True if the policies of this world let the example provider attest the sample service. Those of a world that was made by an earlier version do
 * not until they are applied again: its service goes on with join tokens.
 */
export async function mayProviderVouch({ paths, identities, baseUrl }: SampleInstancesDeps): Promise<boolean> {
  const operator = identities['sys.auth.operator'];
  if (operator === undefined) return false;
  const files = { caBundle: paths.caBundle, certificate: operator.cert, key: operator.key };
  await using client = createClient({ baseUrl, ...files });
  const [domain = '', service = ''] = attestedService.split('.');
  for (const resource of ['sys.auth:instance', `${domain}:service.${service}`]) {
    const question = { principal: attestingProvider, action: 'launch', resource };
    if (!(await client.access.check(question))) return false;
  }
  return true;
}

/** The sample service that registers with the secret of its machine, which the token server asks the example provider about. */
export async function attestedSample(deps: SampleInstancesDeps, providerUrl: string): Promise<SampleSpec> {
  // Addressed by number, as the token server is told to call it (`instances.callOut.allow`).
  const { counter } = await setEndpoint(deps, `https://127.0.0.1:${new URL(providerUrl).port}/attest`);
  await waitUntilKnown(deps, counter);
  return {
    name: attestedService,
    provider: attestingProvider,
    instanceId: machineIds.own,
    attestation: async () => (await readFile(secretFile(deps.paths, machineIds.own), 'utf8')).trim(),
  };
}

/** Registers the provider's endpoint in the store; a service that was removed stays removed. */
async function setEndpoint({ paths, clock }: SampleInstancesDeps, endpoint: string): Promise<StoreState> {
  const parts = splitPrincipal(parsePrincipalName(attestingProvider));
  const store = await openStore({ kind: 'sqlite', file: join(paths.dataDir, 'signet.db') }, { clock });
  try {
    await store.change({ actor: 'signet dev' }, async (transaction) => {
      const stored = parts && (await transaction.attributes(parts.domain));
      if (stored === undefined) return;
      const before = await transaction.services(stored.name, parts?.service);
      const services = diffLists<ServiceRecord>(
        before,
        before.map((service) => ({ ...service, endpoint })),
        ({ name }) => name,
      );
      await transaction.save({ ...unchanged(stored), services });
    });
    return await store.state();
  } finally {
    await store.close();
  }
}
