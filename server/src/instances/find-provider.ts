import { type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import type { AttestationProvider } from './attestation/attestation.ts';
import type { CallOut } from './attestation/call-out.ts';
import type { FindProvider } from './instance-deps.ts';

/** Providers by name: those built in first, then services that have registered an endpoint. */
export function providerFinder(
  builtIn: ReadonlyMap<PrincipalName, AttestationProvider>,
  callOut: CallOut,
): FindProvider {
  return (snapshot, name) => {
    const known = builtIn.get(name);
    if (known !== undefined) return known;
    const parts = splitPrincipal(name);
    const service = parts && snapshot.domain(parts.domain)?.services.get(parts.service);
    if (service?.enabled !== true || service.endpoint === undefined) return undefined;
    return callOut.provider(name, service.endpoint, service.credentialsFrom);
  };
}
