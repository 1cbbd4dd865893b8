import { createPrivateKey } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { addressOctets } from '../../base/ip-address.ts';
import { type CertificateAndKey, createAuthorities, firstRevocationList } from '../../x509/certificate-authority.ts';
import { encryptPrivateKey } from '../../x509/encrypted-key.ts';
import type { Issuer } from '../../x509/issuer.ts';
import { issuerFromPem } from '../../x509/issuer-files.ts';
import { type ConstrainedNames, networkConstraint } from '../../x509/name-constraints.ts';
import { isDnsName } from '../../x509/naming.ts';
import { UsageError } from '../usage-error.ts';

/** Options of a new root and its intermediate. */
export interface AuthorityOptions {
  readonly trustDomain: string;
  /** DNS names and networks that the intermediate may certify beside those of the trust domain and of the server; absent: all names. */
  readonly nameConstraints?: readonly string[] | undefined;
  /** Addresses of revocation lists in certificates, with `{issuer}`. */
  readonly distributionPoints?: readonly string[] | undefined;
  /** Passphrase of the root's private key; absent: it is not encrypted. */
  readonly rootPassphrase?: string | undefined;
}

/** The authority of a new server, whose files are in its folder `ca`. */
export interface PlacedAuthority {
  readonly issuer: Issuer;
  /** PEM. */
  readonly root: string;
  /** The file of the root's private key, when it was made here. */
  readonly rootKey?: string;
  /** Revocation lists of the root, relative to the folder of the server. */
  readonly rootLists: readonly string[];
}

/** A path in the folder of the new server. */
export type At = (...parts: readonly string[]) => string;

/** Constraints of the intermediate; undefined for one without constraints. Throws `UsageError`. */
export function permittedNames(
  { trustDomain, nameConstraints }: Pick<AuthorityOptions, 'trustDomain' | 'nameConstraints'>,
  hosts: readonly string[],
): ConstrainedNames | undefined {
  if (nameConstraints === undefined) return undefined;
  const all = [...hosts, ...nameConstraints].map((name) => ({ name, network: networkOf(name) }));
  const dns = all.flatMap(({ name, network }) => (network === undefined ? [name.toLowerCase()] : []));
  const bad = dns.find((name) => name !== 'localhost' && !isDnsName(name));
  if (bad !== undefined) throw new UsageError(`\`${bad}\` is neither a DNS name nor a network`);
  const ip = all.flatMap(({ network }) => network ?? []);
  return { dns: [...new Set([trustDomain, ...dns])], uri: [trustDomain], email: [trustDomain], ip };
}

/** An address, or a network in CIDR form, as a constraint has it. */
function networkOf(text: string): string | undefined {
  const [address = '', prefix, ...more] = text.split('/');
  const octets = addressOctets(address);
  if (octets === undefined || more.length > 0) return undefined;
  if (prefix === undefined) return networkConstraint(octets);
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= octets.length * 4 ? networkConstraint(octets, bits) : undefined;
}

/** Makes a root and an intermediate that may certify these names, and puts them into the folder. */
export async function makeAuthority(
  options: AuthorityOptions,
  names: ConstrainedNames | undefined,
  { at, clock }: { readonly at: At; readonly clock: Clock },
): Promise<PlacedAuthority> {
  const { trustDomain, distributionPoints, rootPassphrase } = options;
  const { root, intermediate } = await createAuthorities(clock, { trustDomain, distributionPoints, names });
  const key = rootPassphrase === undefined ? root.key : encryptPrivateKey(createPrivateKey(root.key), rootPassphrase);
  await writePair(at('ca', 'root'), { certificate: root.certificate, key });
  const rootList = 'ca/root.crl.pem';
  await replaceFile(at(rootList), await firstRevocationList(root, clock), { mode: 0o644 });
  await writePair(at('ca', 'intermediate'), intermediate);
  await replaceFile(at('ca', 'bundle.pem'), root.certificate, { mode: 0o644 });
  return {
    issuer: issuerFromPem(intermediate.certificate, intermediate.key, distributionPoints),
    root: root.certificate,
    rootKey: at('ca', 'root.key.pem'),
    rootLists: [rootList],
  };
}

/** A certificate and its key, `<path>.cert.pem` and `<path>.key.pem`. */
export async function writePair(path: string, { certificate, key }: CertificateAndKey): Promise<void> {
  await replaceFile(`${path}.key.pem`, key, { mode: 0o600 });
  await replaceFile(`${path}.cert.pem`, certificate, { mode: 0o644 });
}
