import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';
import {
  bitString,
  DerReader,
  derTrue,
  element,
  octetString,
  sequence,
  smallInteger,
  tags,
  unsigned,
} from '@signet/policy-engine/internal/der';
import { extension, serialFrom, signCertificate, writeDistributionPoints } from './build-certificate.ts';
import { backdateSeconds } from './certificate-profile.ts';
import { certificatesInPem, certificateToPem, readCertificate } from './certificate-reader.ts';
import { writeTime } from './certificate-times.ts';
import { relativeName } from './distinguished-name.ts';
import { type Issuer, signatureOf } from './issuer.ts';
import { IssuerError } from './issuer-files.ts';
import { type ConstrainedNames, writeNameConstraints } from './name-constraints.ts';
import { oids } from './oids.ts';
import { toPem } from './pem.ts';
import { writeAltNames } from './subject-alt-names.ts';
import { parseSubjectKey, type SubjectKey } from './subject-key.ts';

/*
 * Authorities that follow others. Each has a name of its own, with the beginning of its key's identifier: of two with one name, readers of
 * chains and of revocation lists may take the wrong one.
 */

const daySeconds = 86_400;
/** Days that a root and an intermediate live, as those of `signet init`. */
export const authorityDays = { root: 3650, intermediate: 1825 } as const;

/* RFC 5280 §4.2.1.3: keyCertSign is bit 5, cRLSign bit 6. */
const authorityUsage = extension(oids.keyUsage, true, element(0x03, Uint8Array.of(1, 0x06)));
const rootConstraints = extension(oids.basicConstraints, true, sequence(derTrue));
/** Constraint of an intermediate: it may sign leaves only. */
const intermediateConstraints = extension(oids.basicConstraints, true, sequence(derTrue, smallInteger(0)));

/** The extensions of an intermediate that say what it may certify. */
export interface AuthorityNames {
  /** The value of its alternative names: the SPIFFE id of the trust domain. */
  readonly altNames?: Buffer | undefined;
  readonly nameConstraints?: Buffer | undefined;
  /** Addresses of the revocation list of the root, with `{issuer}`. */
  readonly distributionPoints: readonly string[];
}

/** The names that `signet init` gives to the first intermediate. */
export function authorityNames(
  trustDomain: string,
  names: ConstrainedNames | undefined,
  distributionPoints: readonly string[],
): AuthorityNames {
  return {
    altNames: writeAltNames([{ kind: 'uri', value: `spiffe://${trustDomain}` }]),
    ...(names !== undefined && { nameConstraints: writeNameConstraints(names) }),
    distributionPoints,
  };
}

/** The names of an intermediate that is to be followed by another one. Throws `IssuerError`, `DerError`. */
export function namesOfAuthority(pem: string): AuthorityNames {
  const [der = Buffer.alloc(0)] = certificatesInPem(pem);
  if (!new X509Certificate(der).ca) throw new IssuerError('it is not a certificate of an authority');
  const { extensions } = readCertificate(der);
  const points = extensions.get(oids.crlDistributionPoints.hex);
  const authority = extensions.get(oids.authorityKeyIdentifier.hex);
  return {
    altNames: extensions.get(oids.subjectAltName.hex)?.value,
    nameConstraints: extensions.get(oids.nameConstraints.hex)?.value,
    distributionPoints: points === undefined ? [] : templatesOf(points.value, authority?.value),
  };
}

/** The addresses of a list of the authority above, with `{issuer}` in the place of its id. */
function templatesOf(points: Buffer, authority: Buffer | undefined): readonly string[] {
  const id =
    authority === undefined
      ? undefined
      : new DerReader(authority)
          .enter(tags.sequence, 'the authority key identifier')
          .content(0x80, 'its key')
          .toString('hex');
  return addressesIn(points).map((address) => {
    if (id !== undefined && address.includes(id)) return address.replace(id, '{issuer}');
    throw new IssuerError(
      `\`${address}\` does not hold the id of the authority above it: give --trust-domain and --crl-url in the place of --like`,
    );
  });
}

/** Addresses as `writeDistributionPoints` has them; any other form is refused. Throws `DerError`. */
function addressesIn(value: Buffer): readonly string[] {
  const points = new DerReader(value).enter(tags.sequence, 'the distribution points');
  const found: string[] = [];
  while (!points.done) {
    const names = points
      .enter(tags.sequence, 'a distribution point')
      .enter(0xa0, 'its name')
      .enter(0xa0, 'its full name');
    while (!names.done) found.push(names.content(0x86, 'an address').toString('latin1'));
  }
  return found;
}

/** Options of a new authority. */
interface AuthorityOrder {
  /** Seconds since the epoch. */
  readonly now: number;
  readonly days: number;
  /** Random octets for the serial number, `serialRandomOctets` of them. */
  readonly random: Buffer;
}

function nameOf(role: 'Root' | 'Intermediate', { keyIdentifier }: SubjectKey): Buffer {
  const commonName = `Signet ${role} CA ${keyIdentifier.toString('hex', 0, 4)}`;
  return sequence(relativeName(oids.commonName, commonName), relativeName(oids.organization, 'Signet'));
}

interface AuthorityParts extends AuthorityOrder {
  readonly subject: Buffer;
  readonly key: SubjectKey;
  readonly extensions: readonly Buffer[];
}

type Signing = Pick<Issuer, 'name' | 'keyIdentifier' | 'kind' | 'privateKey' | 'notBefore' | 'notAfter'>;

function signed(issuer: Signing, { now, days, random, subject, key, extensions }: AuthorityParts): string {
  const { algorithm } = signatureOf[issuer.kind];
  const ends = Math.min(issuer.notAfter, now + days * daySeconds);
  const tbs = sequence(
    element(0xa0, smallInteger(2)),
    unsigned(serialFrom(now, random)),
    algorithm,
    issuer.name,
    sequence(writeTime(Math.max(issuer.notBefore, now - backdateSeconds)), writeTime(ends)),
    subject,
    key.spki,
    element(
      0xa3,
      sequence(
        ...extensions,
        extension(oids.subjectKeyIdentifier, false, octetString(key.keyIdentifier)),
        extension(oids.authorityKeyIdentifier, false, sequence(element(0x80, issuer.keyIdentifier))),
      ),
    ),
  );
  return certificateToPem(signCertificate(tbs, issuer));
}

/** A private key on P-256 for an authority, PEM, and its public half. */
export function newAuthorityKey(): { readonly pem: string; readonly privateKey: KeyObject; readonly key: SubjectKey } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    pem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    privateKey,
    key: parseSubjectKey(publicKey.export({ format: 'der', type: 'spki' })),
  };
}

/** A self-signed root, PEM. */
export function buildRoot(
  made: Pick<ReturnType<typeof newAuthorityKey>, 'privateKey' | 'key'>,
  order: AuthorityOrder,
): string {
  const { privateKey, key } = made;
  const subject = nameOf('Root', key);
  const life = { notBefore: 0, notAfter: Number.MAX_SAFE_INTEGER };
  const self = { name: subject, keyIdentifier: key.keyIdentifier, kind: 'P-256', privateKey, ...life } as const;
  return signed(self, { ...order, subject, key, extensions: [rootConstraints, authorityUsage] });
}

/** An intermediate below a root for a key that the caller has proven to hold, PEM. It ends with the root at the latest. Throws `IssuerError`. */
export function buildIntermediate(root: Issuer, key: SubjectKey, names: AuthorityNames, order: AuthorityOrder): string {
  if (order.now < root.notBefore || order.now >= root.notAfter) throw new IssuerError('the root is not valid now');
  if (key.kind === 'ed25519') throw new IssuerError('the key of an authority must be P-256, P-384 or RSA');
  const points = names.distributionPoints.map((address) => address.replace('{issuer}', root.id));
  const extensions = [
    intermediateConstraints,
    authorityUsage,
    ...(names.altNames === undefined ? [] : [extension(oids.subjectAltName, false, names.altNames)]),
    ...(names.nameConstraints === undefined ? [] : [extension(oids.nameConstraints, true, names.nameConstraints)]),
    ...(points.length === 0 ? [] : [extension(oids.crlDistributionPoints, false, writeDistributionPoints(points))]),
  ];
  const pem = signed(root, { ...order, subject: nameOf('Intermediate', key), key, extensions });
  // A mistake in what was signed must not leave the place of the root's key.
  if (!new X509Certificate(pem).verify(root.publicKey))
    throw new IssuerError('the root did not sign what it was given');
  return pem;
}

/** A request for a certificate of an intermediate (RFC 2986), signed with its key, PEM. What it may certify is said where it is signed. */
export function authorityRequest({
  privateKey,
  key,
}: Pick<ReturnType<typeof newAuthorityKey>, 'privateKey' | 'key'>): string {
  const info = sequence(smallInteger(0), nameOf('Intermediate', key), key.spki, element(0xa0));
  const { digest, algorithm } = signatureOf['P-256'];
  return toPem('CERTIFICATE REQUEST', sequence(info, algorithm, bitString(sign(digest, info, privateKey))));
}
