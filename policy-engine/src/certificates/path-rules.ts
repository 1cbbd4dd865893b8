import type { X509Certificate } from 'node:crypto';
import { DerError, DerReader, type Extension, oid, readExtensions, tags } from '../der/index.ts';
import { weakestRsaBits } from '../keys/decode-jwk.ts';

/*
 * The rules of RFC 5280 §6.1 about the contents of a certificate on a path. Node verifies signatures and compares names; it has no
 * verification of a whole path outside of a handshake, which needs the private key.
 */

const hex = (dotted: string): string => oid(dotted).toString('hex');

const oids = {
  keyUsage: hex('2.5.29.15'),
  subjectAltName: hex('2.5.29.17'),
  basicConstraints: hex('2.5.29.19'),
  nameConstraints: hex('2.5.29.30'),
  certificatePolicies: hex('2.5.29.32'),
  policyConstraints: hex('2.5.29.36'),
  extendedKeyUsage: hex('2.5.29.37'),
  ecPublicKey: hex('1.2.840.10045.2.1'),
} as const;

/** Critical extensions that are evaluated, or that say nothing about a path here: any policy is accepted, names are for the caller. */
const evaluated: ReadonlySet<string> = new Set([
  oids.keyUsage,
  oids.subjectAltName,
  oids.basicConstraints,
  oids.certificatePolicies,
  oids.extendedKeyUsage,
]);

/** Extensions that narrow a path and are not evaluated: a path through such a certificate proves nothing, critical or not. */
const notEvaluated: readonly string[] = [oids.nameConstraints, oids.policyConstraints];

/** RSA PKCS #1 and ECDSA with SHA-2, and Ed25519: the algorithms of certificate requests that the server accepts. */
const signatureAlgorithms: ReadonlySet<string> = new Set(
  [
    ...['11', '12', '13'].map((last) => `1.2.840.113549.1.1.${last}`),
    ...['2', '3', '4'].map((last) => `1.2.840.10045.4.3.${last}`),
    '1.3.101.112',
  ].map(hex),
);

/** P-256, P-384 and P-521, by their names: parameters that are spelled out could be others. */
const curves: ReadonlySet<string> = new Set(['1.2.840.10045.3.1.7', '1.3.132.0.34', '1.3.132.0.35'].map(hex));

const digitalSignature = 0x80;
const keyCertSign = 0x04;

/** A certificate as a part of a path. */
export interface PathCertificate {
  readonly isAuthority: boolean;
  /** Upper bound of the authorities between it and the leaf, those that issued themselves left out. */
  readonly maxBelow: number;
  readonly isSelfIssued: boolean;
  /** The octets of its key usage; undefined: every usage. */
  readonly keyUsage: number | undefined;
  /** True if the signature algorithm is strong enough. Irrelevant for an anchor, which is trusted by itself. */
  readonly hasStrongSignature: boolean;
}

/**
 * Reads a certificate for a path. `undefined` when no path may contain it: it is not of version 3, has a critical extension that is
 * not evaluated here, an extension twice or a weak key.
 */
export function readPathCertificate(certificate: X509Certificate): PathCertificate | undefined {
  try {
    return readFields(certificate);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** True if the certificate may be the leaf of a path: it is not an authority, and its key may sign handshakes. */
export function mayBeLeaf({ isAuthority, keyUsage = digitalSignature, hasStrongSignature }: PathCertificate): boolean {
  return !isAuthority && hasStrongSignature && (keyUsage & digitalSignature) !== 0 && (keyUsage & keyCertSign) === 0;
}

/** True if the certificate may issue in a path that has `below` authorities under it. */
export function mayIssueAbove(
  { isAuthority, keyUsage = keyCertSign, maxBelow }: PathCertificate,
  below: number,
): boolean {
  return isAuthority && (keyUsage & keyCertSign) !== 0 && below <= maxBelow;
}

function readFields(certificate: X509Certificate): PathCertificate | undefined {
  const outer = new DerReader(certificate.raw).enter(tags.sequence, 'the certificate');
  const info = outer.enter(tags.sequence, 'the signed part');
  const outerAlgorithm = outer.element(tags.sequence, 'the signature algorithm');
  const version = info.enter(0xa0, 'the version').content(tags.integer, 'the version');
  info.content(tags.integer, 'the serial number');
  const innerAlgorithm = info.element(tags.sequence, 'the signature algorithm');
  const issuer = info.element(tags.sequence, 'the issuer');
  info.element(tags.sequence, 'the validity');
  const subject = info.element(tags.sequence, 'the subject');
  const key = info.enter(tags.sequence, 'the public key');
  const extensions = info.done ? none : readExtensions(info.enter(0xa3, 'the extensions').enter(tags.sequence, 'them'));
  info.finish('the signed part');
  const isVersion3 = version.length === 1 && version[0] === 2;
  if (!isVersion3 || !outerAlgorithm.equals(innerAlgorithm) || !isStrong(certificate, key)) return undefined;
  if (![...extensions].every(([type, { critical }]) => !critical || evaluated.has(type))) return undefined;
  if (notEvaluated.some((type) => extensions.has(type))) return undefined;
  const algorithm = new DerReader(innerAlgorithm).enter(tags.sequence, 'the signature algorithm').oid('its type');
  return {
    ...basicConstraints(extensions.get(oids.basicConstraints)),
    isSelfIssued: issuer.equals(subject),
    keyUsage: keyUsageOf(extensions.get(oids.keyUsage)),
    hasStrongSignature: signatureAlgorithms.has(algorithm),
  };
}

const none: ReadonlyMap<string, Extension> = new Map();

function basicConstraints(extension: Extension | undefined): { isAuthority: boolean; maxBelow: number } {
  if (extension === undefined) return { isAuthority: false, maxBelow: 0 };
  const fields = new DerReader(extension.value).enter(tags.sequence, 'the basic constraints');
  const isAuthority = fields.next(tags.boolean) && fields.content(tags.boolean, 'the flag')[0] === 0xff;
  const bound = fields.done ? undefined : fields.unsigned('the path length');
  fields.finish('the basic constraints');
  return {
    isAuthority,
    maxBelow: bound === undefined ? Number.POSITIVE_INFINITY : Number(`0x${bound.toString('hex')}`),
  };
}

/** Key usage bits; the first octet has all those that are needed here. */
function keyUsageOf(extension: Extension | undefined): number | undefined {
  if (extension === undefined) return undefined;
  const [, first = 0] = new DerReader(extension.value).content(tags.bitString, 'the key usage');
  return first;
}

/** True if a public key is at least as strong as those of tokens. RSA moduli have whole octets (CA/Browser Forum §6.1.5). */
function isStrong({ publicKey }: X509Certificate, key: DerReader): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { modulusLength = 0 } = {} } = publicKey;
  if (type === 'rsa') return modulusLength >= weakestRsaBits && modulusLength % 8 === 0;
  if (type === 'ed25519') return true;
  const algorithm = key.enter(tags.sequence, 'the key algorithm');
  if (algorithm.oid('the key algorithm') !== oids.ecPublicKey || !algorithm.next(tags.oid)) return false;
  return curves.has(algorithm.oid('the curve'));
}
