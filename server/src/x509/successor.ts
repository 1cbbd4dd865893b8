import { X509Certificate } from 'node:crypto';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { DerReader } from '@signet/policy-engine/internal/der';
import { certificatesInPem, readCertificate } from './certificate-reader.ts';
import type { Issuer } from './issuer.ts';
import { type ConstrainedNames, constraintFault, type NameConstraints } from './name-constraints.ts';
import { oids } from './oids.ts';
import type { AltName } from './subject-alt-names.ts';

/** The names of a certificate that a server is going to issue. */
export interface NamesToIssue {
  readonly commonName: string;
  readonly altNames: readonly AltName[];
}

/** Requirements on an issuing authority. */
export interface Succession {
  /** Seconds since the epoch. */
  readonly now: number;
  /** The longest life of what it signs, in seconds. */
  readonly longestLife: number;
  /** PEM roots by the option that names their file: it has to lead to one of each. */
  readonly roots: readonly { readonly option: string; readonly pem: string }[];
  readonly names: readonly NamesToIssue[];
}

/** Reasons why an authority may not begin to sign here; empty if it may. */
export function successorFaults(issuer: Issuer, { now, longestLife, roots, names }: Succession): readonly string[] {
  const missing = roots.filter(({ pem }) => !leadsTo(issuer.chainPem, pem, now)).map(({ option }) => option);
  const constrained = names.map((each) => constraintFault(each, issuer.nameConstraints));
  return [
    ...missing.map((option) => `its chain leads to no root of ${option} that is valid`),
    ...lifeFaults(issuer, now, longestLife),
    ...(mayIssue(issuer) ? [] : ['its key usage does not allow it to sign certificates and revocation lists']),
    ...new Set(constrained.filter((fault) => fault !== undefined)),
  ];
}

function lifeFaults({ notBefore, notAfter }: Issuer, now: number, longestLife: number): readonly string[] {
  if (now < notBefore) return [`it is not valid before ${formatTimestamp(notBefore * 1000)}`];
  if (now >= notAfter) return [`it has ended at ${formatTimestamp(notAfter * 1000)}`];
  if (now + longestLife <= notAfter) return [];
  return [
    `it ends at ${formatTimestamp(notAfter * 1000)}, before the longest life of the certificates that it would sign`,
  ];
}

function leadsTo(chainPem: string, rootsPem: string, now: number): boolean {
  const [last = Buffer.alloc(0)] = certificatesInPem(chainPem).slice(-1);
  const top = new X509Certificate(last);
  return certificatesInPem(rootsPem)
    .map((der) => new X509Certificate(der))
    .filter((root) => root.validFromDate.getTime() <= now * 1000 && now * 1000 < root.validToDate.getTime())
    .some((root) => root.raw.equals(top.raw) || (top.checkIssued(root) && top.verify(root.publicKey)));
}

/* RFC 5280 §4.2.1.3: keyCertSign is bit 5, cRLSign bit 6. */
const authorityBits = 0x06;

/** True if key usage allows issuing; without the extension a key may be used for everything. */
function mayIssue({ chainPem }: Issuer): boolean {
  const [own = Buffer.alloc(0)] = certificatesInPem(chainPem);
  const usage = readCertificate(own).extensions.get(oids.keyUsage.hex);
  if (usage === undefined) return true;
  const [, bits = 0] = new DerReader(usage.value).content(0x03, 'the key usage');
  return (bits & authorityBits) === authorityBits;
}

/** Names that the present authority may certify by its constraints and the next one not, by their constraints. */
export function lostNames(
  before: Pick<Issuer, 'nameConstraints'>,
  after: Pick<Issuer, 'nameConstraints'>,
): readonly string[] {
  const names = before.nameConstraints.flatMap(({ permitted }) => examplesOf(permitted));
  return names.flatMap(([name, shown]) => (mayCertify(after.nameConstraints, name) ? [] : [shown]));
}

function mayCertify(constraints: readonly NameConstraints[], name: AltName): boolean {
  return constraintFault({ commonName: '', altNames: [name] }, constraints) === undefined;
}

/** A name that each permitted subtree holds, and the subtree as it is shown. */
function examplesOf({ dns, uri, email, ip }: ConstrainedNames): readonly (readonly [AltName, string])[] {
  const host = (base: string) => (base.startsWith('.') ? `x${base}` : base);
  return [
    ...dns.map((base) => [{ kind: 'dns', value: host(base) }, base] as const),
    ...uri.map((base) => [{ kind: 'uri', value: `spiffe://${host(base)}/` }, `spiffe://${base}`] as const),
    ...email.map((base) => [{ kind: 'email', value: base.includes('@') ? base : `x@${host(base)}` }, base] as const),
    ...ip.map((base) => [{ kind: 'ip', value: base.slice(0, base.length / 2) }, networkText(base)] as const),
  ];
}

/** Address and mask in hexadecimal, which is what the constraint holds. */
function networkText(base: string): string {
  return `network ${base.slice(0, base.length / 2)}/${base.slice(base.length / 2)}`;
}
