import { generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '@signet/policy-engine/clock';
import { type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { addressOctets } from '../../base/ip-address.ts';
import type { CertificateStore } from '../../model/certificate-store.ts';
import type { CertificateAndKey } from '../../x509/certificate-authority.ts';
import { type CertificateUsage, type IssuedAltName, maxCommonNameLength } from '../../x509/certificate-profile.ts';
import { relativeName } from '../../x509/distinguished-name.ts';
import { type CertificateOrder, type SignedCertificate, signOrder } from '../../x509/issue-certificate.ts';
import type { Issuer } from '../../x509/issuer.ts';
import { signetForms } from '../../x509/name-forms.ts';
import { serviceSpiffeId } from '../../x509/naming.ts';
import { oids } from '../../x509/oids.ts';
import { parseSubjectKey } from '../../x509/subject-key.ts';
import { UsageError } from '../usage-error.ts';

const leafSeconds = 365 * 86_400;
const makeKeys = promisify(generateKeyPair);

interface FirstIssueDeps {
  readonly issuer: Issuer;
  readonly certificates: CertificateStore;
  readonly trustDomain: string;
  readonly clock: Clock;
}

interface Holder {
  readonly name: PrincipalName;
  readonly usage: CertificateUsage;
  /** The names and addresses that it is reached by. */
  readonly hosts: readonly string[];
}

/** The first certificates of a server, made without it, and recorded as it records those that it issues: they can be revoked. */
export async function issueFirst(
  deps: FirstIssueDeps,
  holder: Holder,
): Promise<CertificateAndKey & { notAfter: number }> {
  const order = { kind: 'service', defaultSeconds: leafSeconds, maxSeconds: [] } as const;
  const { signed, key } = await signNew(deps, holder, order);
  await deps.certificates.confirm(signed.serial, signed.fingerprint);
  return { certificate: `${signed.pem}${signed.chainPem}`, key, notAfter: signed.notAfter };
}

type Order = Pick<CertificateOrder, 'kind' | 'requestedSeconds' | 'defaultSeconds' | 'maxSeconds' | 'askedBy'>;

/** A certificate over a new key, made without a server. The caller records it: its row says `intended`. */
export async function signNew(
  deps: FirstIssueDeps,
  holder: Holder,
  order: Order,
): Promise<{ signed: SignedCertificate; key: string; spki: Buffer }> {
  const { issuer, certificates, clock } = deps;
  const { name, usage } = holder;
  const { publicKey, privateKey } = await makeKeys('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const signed = await signOrder(
    { issuers: { signing: () => issuer }, certificates, clock, randomBytes: (size) => randomBytes(size) },
    {
      ...order,
      names: {
        commonName: name,
        subject: [relativeName(oids.commonName, name)],
        altNames: firstNames(holder, deps.trustDomain, issuer.nameConstraints.length > 0),
      },
      subjectKey: parseSubjectKey(spki),
      usage,
      holder: name,
    },
  );
  return { signed, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), spki };
}

/**
 * The SPIFFE id of a holder and its hosts. Who has none gets a DNS name below the trust domain where the authority has name constraints, for OpenSSL
 * takes the common name for one else. Throws `UsageError`.
 */
export function firstNames(
  { name, hosts }: Pick<Holder, 'name' | 'hosts'>,
  trustDomain: string,
  isConstrained: boolean,
): readonly IssuedAltName[] {
  const parts = splitPrincipal(name);
  if (parts === undefined) throw new UsageError(`\`${name}\` is not a service`);
  if (name.length > maxCommonNameLength) {
    throw new UsageError(`\`${name}\` is longer than the ${maxCommonNameLength} characters of a common name`);
  }
  const { domain, service } = parts;
  const own = hosts.length === 0 && isConstrained ? [`${service}.${domain}.${trustDomain}`] : hosts;
  const rules = { trustDomain, dnsSuffix: trustDomain, forms: signetForms };
  return [{ kind: 'uri', value: serviceSpiffeId(rules, domain, service) }, ...own.map(hostName)];
}

/** A name or an address as certificates hold it. */
export function hostName(host: string): IssuedAltName {
  const octets = addressOctets(host);
  return octets === undefined ? { kind: 'dns', value: host } : { kind: 'ip', value: octets };
}
