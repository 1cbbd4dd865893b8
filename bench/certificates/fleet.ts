import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import type { Store } from '@signet/server/model/store';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import { grantInstanceNames } from '@signet/server/x509/csr-rules';
import { type IssueDeps, type SignedCertificate, signOrder } from '@signet/server/x509/issue-certificate';
import { signetForms } from '@signet/server/x509/name-forms';

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const rules = { trustDomain: 'signet.bench', dnsSuffix: 'signet.bench', forms: signetForms };

/** Reads the request, applies the rules, records the intent, signs, inspects: what the server does for each certificate. */
export function issue(deps: IssueDeps, pem: string): Promise<SignedCertificate> {
  const request = parseCertificateRequest(pem);
  const { instanceId, ...names } = grantInstanceNames(request, key, rules, {
    mayUseSuffix: () => false,
    addressFault: () => undefined,
    dnsForm: 'media',
  });
  const { subjectKey } = request;
  const order = { kind: 'instance', names, subjectKey, usage: 'both', defaultSeconds: 86_400, maxSeconds: [] } as const;
  return signOrder(deps, { ...order, holder: parsePrincipalName('media.player'), provider: key.provider, instanceId });
}

export const fleetSize = 64;

/** Registers and refreshes the instances of a small fleet in turn. */
export function fleetOf(store: Store, deps: IssueDeps, pem: string) {
  const fleet = Array.from({ length: fleetSize }, (_, index) => ({
    key: { ...key, instanceId: parsePathElement(`i-${index}`) },
    presented: '',
  }));
  let turn = 0;
  const next = () => fleet[turn++ % fleet.length] ?? { key, presented: '' };
  return {
    register: async () => {
      const instance = next();
      const signed = await issue(deps, pem);
      await store.instances.register(instance.key, signed, { clientOnly: false, at: epochSeconds(systemClock) });
      instance.presented = signed.serial;
    },
    refresh: async () => {
      const instance = next();
      await store.instances.statusOf(instance.key, instance.presented);
      const signed = await issue(deps, pem);
      const at = epochSeconds(systemClock);
      const rotation = await store.instances.rotate(instance.key, { serial: instance.presented, at }, signed);
      if (rotation !== 'moved') throw new Error(`the serial number is ${rotation}`);
      instance.presented = signed.serial;
    },
  };
}
