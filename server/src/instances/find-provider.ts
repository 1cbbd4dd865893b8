import { type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { ForbiddenError } from '../errors.ts';
import type { AttestationMethod, Observer } from '../observer.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { AttestationProvider } from './attestation/attestation.ts';
import type { CallOut } from './attestation/call-out.ts';
import type { FindProvider } from './instance-deps.ts';

/** Providers by name: those built in first, then services that have registered an endpoint. */
export function providerFinder(
  builtIn: ReadonlyMap<PrincipalName, AttestationProvider>,
  callOut: CallOut,
  observed: ObservedProvider = (_, provider) => provider,
): FindProvider {
  return (snapshot, name) => {
    const known = builtIn.get(name);
    if (known !== undefined) return known;
    const parts = splitPrincipal(name);
    const service = parts && snapshot.domain(parts.domain)?.services.get(parts.service);
    if (service?.enabled !== true || service.endpoint === undefined) return undefined;
    return observed('call-out', callOut.provider(name, service.endpoint, service.credentialsFrom));
  };
}

/** Reports an attestation, with its method, to the observer once it has ended. */
type ObservedProvider = (method: AttestationMethod, provider: AttestationProvider) => AttestationProvider;

export function observedProvider(
  observer: Pick<Observer, 'attested'> | undefined,
  tracing?: Pick<Tracing, 'around'> | undefined,
): ObservedProvider {
  if (observer === undefined && tracing === undefined) return (_, provider) => provider;
  return (method, provider) => {
    const attest: AttestationProvider['attest'] = (request) =>
      tracing === undefined
        ? provider.attest(request)
        : tracing.around('signet.attest', { 'signet.attestation.method': method }, () => provider.attest(request));
    return {
      attest: async (request) => {
        try {
          const attested = await attest(request);
          observer?.attested(method, 'granted');
          return attested;
        } catch (error) {
          observer?.attested(method, error instanceof ForbiddenError ? 'refused' : 'failed');
          throw error;
        }
      },
    };
  };
}
