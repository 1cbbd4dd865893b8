import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { epochSeconds } from '@signet/policy-engine/clock';
import { type PrincipalName, parseDomainName, parseServiceName, servicePrincipal } from '@signet/policy-engine/names';
import type { CertificateStore } from '../model/certificate-store.ts';
import { backdateSeconds, type IssuedAltName } from './certificate-profile.ts';
import { relativeName } from './distinguished-name.ts';
import { type IssueDeps, signOrder } from './issue-certificate.ts';
import { type NamingRules, serviceSpiffeId } from './naming.ts';
import { oids } from './oids.ts';
import { parseSubjectKey } from './subject-key.ts';

/** A client certificate of the server itself, with its chain, and its key; PEM. */
interface OwnIdentity {
  readonly certificate: string;
  readonly key: string;
}

interface OwnIdentityDeps extends IssueDeps {
  readonly certificates: CertificateStore;
  readonly rules: NamingRules;
}

/** The token server as a service. Its certificates hold the SPIFFE id of this service, by which clients know it. */
export const serverName = { domain: parseDomainName('sys.auth'), service: parseServiceName('server') } as const;
export const serverPrincipal: PrincipalName = servicePrincipal(serverName.domain, serverName.service);

const lifetimeSeconds = 86_400;
const makeKeys = promisify(generateKeyPair);

/** The SPIFFE id alone; with a DNS name where the issuer has constraints. */
function ownNames(rules: NamingRules, constraints: readonly unknown[]): readonly IssuedAltName[] {
  const { domain, service } = serverName;
  const id: IssuedAltName = { kind: 'uri', value: serviceSpiffeId(rules, domain, service) };
  return constraints.length === 0 ? [id] : [id, { kind: 'dns', value: `${service}.${domain}.${rules.dnsSuffix}` }];
}

/** Certificates with which the server calls others: made when they are needed, kept in memory only, replaced at half of their life. */
export function createOwnIdentity(deps: OwnIdentityDeps): () => Promise<OwnIdentity> {
  let current: { readonly identity: OwnIdentity; readonly madeAt: number } | undefined;
  let making: Promise<OwnIdentity> | undefined;
  const make = async (): Promise<OwnIdentity> => {
    const { publicKey, privateKey } = await makeKeys('ec', { namedCurve: 'P-256' });
    const { nameConstraints } = deps.issuers.signing(epochSeconds(deps.clock));
    const signed = await signOrder(deps, {
      kind: 'service',
      names: {
        commonName: serverPrincipal,
        subject: [relativeName(oids.commonName, serverPrincipal)],
        altNames: ownNames(deps.rules, nameConstraints),
      },
      subjectKey: parseSubjectKey(publicKey.export({ type: 'spki', format: 'der' })),
      usage: 'client',
      defaultSeconds: lifetimeSeconds,
      maxSeconds: [],
      holder: serverPrincipal,
    });
    await deps.certificates.confirm(signed.serial, signed.fingerprint);
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const identity = { certificate: `${signed.pem}${signed.chainPem}`, key };
    current = { identity, madeAt: epochSeconds(deps.clock) };
    return identity;
  };
  return async () => {
    const age = current === undefined ? Number.NaN : epochSeconds(deps.clock) - current.madeAt;
    // A certificate that has not begun is reissued too: the clock was set back since.
    if (current !== undefined && age > -backdateSeconds && age < lifetimeSeconds / 2) return current.identity;
    making ??= make().finally(() => {
      making = undefined;
    });
    return making;
  };
}
