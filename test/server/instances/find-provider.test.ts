import { parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import type { AttestationProvider } from '@signet/server/instances/attestation/attestation';
import { providerFinder } from '@signet/server/instances/find-provider';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import test from 'ava';
import { domainContent, stored } from '#support/domains';

const builtIn: AttestationProvider = { attest: () => Promise.reject(new Error('not asked')) };
const endpoint = 'https://prov.example.com/';
const from = 1_000_000;

/** Provider that is called: the one that is built in, its endpoint with the start of its validity, or nothing. */
function found(name: string): unknown {
  const prov = stored(
    domainContent('prov', {
      services: ['cloud', 'plain', 'gone'].map((service) => ({ name: service, enabled: service !== 'gone' })),
    }),
  );
  const services = prov.services.map((service) =>
    service.name === parseServiceName('plain') ? service : { ...service, endpoint: endpoint },
  );
  const { snapshot } = compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: [{ ...prov, services, servicesFrom: new Map([[parseServiceName('cloud'), from]]) }],
    deleted: [],
    signingKeys: [],
  });
  const callOut = { provider: (...call: readonly unknown[]) => call as never };
  const known = new Map([[parsePrincipalName('sys.auth.join'), builtIn]]);
  return providerFinder(known, callOut)(snapshot, parsePrincipalName(name));
}

const cases: readonly (readonly [name: string, called: unknown])[] = [
  ['sys.auth.join', builtIn],
  ['prov.cloud', ['prov.cloud', endpoint, from]],
  ['prov.plain', undefined],
  ['prov.gone', undefined],
  ['prov.none', undefined],
  ['nowhere.cloud', undefined],
];
for (const [name, called] of cases) {
  test(`the provider ${name}`, (t) => t.deepEqual(found(name), called));
}
