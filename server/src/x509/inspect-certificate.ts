import { DerReader, sequence, tags } from '@signet/policy-engine/internal/der';
import type { CertificateProfile, CertificateUsage } from './certificate-profile.ts';
import { altNamesOf, type ReadCertificate, readCertificate } from './certificate-reader.ts';
import { type Issuer, signatureOf } from './issuer.ts';
import { oids } from './oids.ts';
import type { SubjectKey } from './subject-key.ts';

/** A certificate that is not what its profile says. It is thrown away; this is a fault of the server, not of the request. */
export class CertificateMismatchError extends Error {
  override readonly name = 'CertificateMismatchError';
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new CertificateMismatchError(`the certificate that was made has a wrong ${what}`);
}

const usages: Readonly<Record<CertificateUsage, readonly string[]>> = {
  client: [oids.clientAuth.hex],
  server: [oids.serverAuth.hex],
  both: [oids.serverAuth.hex, oids.clientAuth.hex],
};

function extensionValue(certificate: ReadCertificate, type: string, critical: boolean, what: string): Buffer {
  const found = certificate.extensions.get(type);
  must(found?.critical === critical, what);
  return found?.value ?? Buffer.alloc(0);
}

function extendedUsages(certificate: ReadCertificate): readonly string[] {
  const value = extensionValue(certificate, oids.extendedKeyUsage.hex, false, 'extended key usage');
  const reader = new DerReader(value).enter(tags.sequence, 'the extended key usages');
  const found: string[] = [];
  while (!reader.done) found.push(reader.oid('an extended key usage'));
  return found;
}

function inspectUsages(certificate: ReadCertificate, profile: CertificateProfile, rsa: boolean): void {
  const constraints = extensionValue(certificate, oids.basicConstraints.hex, true, 'basic constraint');
  must(constraints.equals(sequence()), 'basic constraint');
  const usage = extensionValue(certificate, oids.keyUsage.hex, true, 'key usage');
  must(usage.toString('hex') === (rsa ? '030205a0' : '03020780'), 'key usage');
  must(extendedUsages(certificate).join() === usages[profile.usage].join(), 'extended key usage');
}

function inspectKeys(certificate: ReadCertificate, subjectKey: SubjectKey, issuer: Issuer): void {
  must(certificate.spki.equals(subjectKey.spki), 'public key');
  const subjectId = extensionValue(certificate, oids.subjectKeyIdentifier.hex, false, 'subject key identifier');
  const own = new DerReader(subjectId).content(tags.octetString, 'the subject key identifier');
  must(own.equals(subjectKey.keyIdentifier), 'subject key identifier');
  const issuerId = extensionValue(certificate, oids.authorityKeyIdentifier.hex, false, 'authority key identifier');
  const theirs = new DerReader(issuerId).enter(tags.sequence, 'the authority key identifier').content(0x80, 'its key');
  must(theirs.equals(issuer.keyIdentifier), 'authority key identifier');
}

function inspectNames(certificate: ReadCertificate, profile: CertificateProfile): void {
  must(certificate.subject.equals(sequence(...profile.subject)), 'subject');
  const common = certificate.subjectNames.filter(({ attribute }) => attribute === 'commonName');
  must(common.length === 1 && common[0]?.value === profile.commonName, 'common name');
  const names = altNamesOf(certificate);
  const same = names.every(
    (name, i) => name.kind === profile.altNames[i]?.kind && name.value === profile.altNames[i]?.value,
  );
  must(same && names.length === profile.altNames.length, 'alternative name');
}

function pointsOf(certificate: ReadCertificate): readonly string[] {
  const found = certificate.extensions.get(oids.crlDistributionPoints.hex);
  if (found === undefined) return [];
  const point = new DerReader(found.value).enter(tags.sequence, 'the points').enter(tags.sequence, 'a point');
  const names = point.enter(0xa0, 'the name of a point').enter(0xa0, 'the addresses');
  const addresses: string[] = [];
  while (!names.done) addresses.push(names.content(0x86, 'an address').toString('latin1'));
  return addresses;
}

/**
 * Reads a certificate that was just signed, with a reader that shares nothing with the writer, and compares all of it with what was
 * meant. Throws `CertificateMismatchError`.
 */
export function inspectCertificate(
  der: Buffer,
  meant: {
    readonly profile: CertificateProfile;
    readonly subjectKey: SubjectKey;
    readonly issuer: Issuer;
    readonly serial: string;
  },
): void {
  const certificate = readCertificate(der);
  const { algorithm } = signatureOf[meant.issuer.kind];
  must(certificate.innerAlgorithm.equals(algorithm) && certificate.outerAlgorithm.equals(algorithm), 'algorithm');
  must(certificate.serial === meant.serial, 'serial number');
  must(certificate.issuer.equals(meant.issuer.name), 'issuer');
  must(certificate.notBefore === meant.profile.notBefore, 'notBefore');
  must(certificate.notAfter === meant.profile.notAfter, 'notAfter');
  must(certificate.notAfter <= meant.issuer.notAfter, 'notAfter');
  const { distributionPoints } = meant.issuer;
  const count = 5 + Number(meant.profile.altNames.length > 0) + Number(distributionPoints.length > 0);
  must(certificate.extensions.size === count, 'extension');
  must(pointsOf(certificate).join(' ') === distributionPoints.join(' '), 'distribution point');
  inspectNames(certificate, meant.profile);
  inspectUsages(certificate, meant.profile, meant.subjectKey.kind === 'rsa');
  inspectKeys(certificate, meant.subjectKey, meant.issuer);
}
