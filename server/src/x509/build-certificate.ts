import { bitString, derTrue, element, octetString, sequence, unsigned } from '@signet/policy-engine/internal/der';
import { backdateSeconds, type CertificateProfile, type CertificateUsage } from './certificate-profile.ts';
import type { ReadCertificate } from './certificate-reader.ts';
import { writeTime } from './certificate-times.ts';
import { type Issuer, signAs, signatureOf } from './issuer.ts';
import { type Oid, oids } from './oids.ts';
import { writeAltNames } from './subject-alt-names.ts';
import type { KeyKind, SubjectKey } from './subject-key.ts';

/** Extension (RFC 5280 §4.1): the critical flag is written only when it is set, as DER requires. */
export function extension(type: Oid, critical: boolean, value: Uint8Array): Buffer {
  return critical ? sequence(type.der, derTrue, octetString(value)) : sequence(type.der, octetString(value));
}

const version3 = element(0xa0, element(0x02, Uint8Array.of(2)));

/** RFC 5280 §4.2.1.9: an end entity; the default (not a CA) is written as an empty sequence. */
const basicConstraints = extension(oids.basicConstraints, true, sequence());

/* RFC 5280 §4.2.1.3: digitalSignature is bit 0, keyEncipherment bit 2; RFC 5480 §3 forbids the latter for EC keys. */
const digitalSignature = element(0x03, Uint8Array.of(7, 0x80));
const signatureAndEncipherment = element(0x03, Uint8Array.of(5, 0xa0));

const keyUsages: Readonly<Record<KeyKind, Buffer>> = {
  'P-256': extension(oids.keyUsage, true, digitalSignature),
  'P-384': extension(oids.keyUsage, true, digitalSignature),
  ed25519: extension(oids.keyUsage, true, digitalSignature),
  rsa: extension(oids.keyUsage, true, signatureAndEncipherment),
};

const extendedKeyUsages: Readonly<Record<CertificateUsage, Buffer>> = {
  client: extension(oids.extendedKeyUsage, false, sequence(oids.clientAuth.der)),
  server: extension(oids.extendedKeyUsage, false, sequence(oids.serverAuth.der)),
  both: extension(oids.extendedKeyUsage, false, sequence(oids.serverAuth.der, oids.clientAuth.der)),
};

/** The value of a cRLDistributionPoints extension (RFC 5280 §4.2.1.13): each address is another place of the same list. */
export function writeDistributionPoints(addresses: readonly string[]): Buffer {
  const names = addresses.map((address) => element(0x86, Buffer.from(address, 'latin1')));
  return sequence(sequence(element(0xa0, element(0xa0, ...names))));
}

const byIssuer = new WeakMap<Issuer, Buffer>();

/** The extensions that say who issued a certificate and where its revocations are: the same bytes for all of one issuer. */
function issuerExtensions(issuer: Issuer): Buffer {
  const known = byIssuer.get(issuer);
  if (known !== undefined) return known;
  const parts = [extension(oids.authorityKeyIdentifier, false, sequence(element(0x80, issuer.keyIdentifier)))];
  const { distributionPoints: points } = issuer;
  if (points.length > 0) parts.push(extension(oids.crlDistributionPoints, false, writeDistributionPoints(points)));
  const made = Buffer.concat(parts);
  byIssuer.set(issuer, made);
  return made;
}

/** The extensions of a certificate of this profile, in their order. The first three are the same bytes every time. */
function extensionsOf(profile: CertificateProfile, subjectKey: SubjectKey, issuer: Issuer): Buffer {
  const parts = [
    basicConstraints,
    keyUsages[subjectKey.kind],
    extendedKeyUsages[profile.usage],
    extension(oids.subjectKeyIdentifier, false, octetString(subjectKey.keyIdentifier)),
    issuerExtensions(issuer),
  ];
  if (profile.altNames.length > 0) parts.push(extension(oids.subjectAltName, false, writeAltNames(profile.altNames)));
  return sequence(...parts);
}

/** The part of a certificate that is signed (RFC 5280 §4.1.2), in DER. `serial` is a positive number of at most 20 octets. */
export function buildTbsCertificate(
  profile: CertificateProfile,
  subjectKey: SubjectKey,
  issuer: Issuer,
  serial: Buffer,
): Buffer {
  return sequence(
    version3,
    unsigned(serial),
    signatureOf[issuer.kind].algorithm,
    issuer.name,
    sequence(writeTime(profile.notBefore), writeTime(profile.notAfter)),
    sequence(...profile.subject),
    subjectKey.spki,
    element(0xa3, extensionsOf(profile, subjectKey, issuer)),
  );
}

/** Signs a to-be-signed part; answers the whole certificate in DER. */
export function signCertificate(tbs: Buffer, issuer: Pick<Issuer, 'kind' | 'privateKey'>): Buffer {
  return sequence(tbs, signatureOf[issuer.kind].algorithm, bitString(signAs(issuer, tbs)));
}

/** Number of random octets that `serialFrom` needs. */
export const serialRandomOctets = 10;

/**
 * A serial number of 16 octets: six of the time of issue (`at`, seconds since the epoch with their fraction, as finely as the clock tells it),
 * then 80 random bits; RFC 5280 §4.1.2.2 and the rules of public authorities ask for at least 64. It is positive and always of the same
 * length. Those of one time stand together in the index of the store, so that issuing writes a few of its pages instead of one for each
 * certificate.
 */
export function serialFrom(at: number, random: Buffer): Buffer {
  const seconds = Math.floor(at);
  const serial = Buffer.allocUnsafe(6 + serialRandomOctets);
  serial.writeUInt32BE(0x4000_0000 + (seconds % 0x4000_0000));
  serial.writeUInt16BE(Math.floor((at - seconds) * 0x1_0000), 4);
  random.copy(serial, 6, 0, serialRandomOctets);
  return serial;
}

/**
 * Time of issue of a certificate, in seconds since the epoch: as its serial number says where that is one of `serialFrom`, and else not before
 * it begins. Lives begin up to `backdateSeconds` before the issue.
 */
export function issueTimeOf({ serial, notBefore }: Pick<ReadCertificate, 'serial' | 'notBefore'>): number {
  if (!/^[4-7][0-9a-f]{31}$/.test(serial)) return notBefore;
  const stamp = Number.parseInt(serial.slice(0, 8), 16) - 0x4000_0000;
  const elapsed = (stamp - (notBefore % 0x4000_0000) + 0x4000_0000) % 0x4000_0000;
  return elapsed <= backdateSeconds ? notBefore + elapsed : notBefore;
}
