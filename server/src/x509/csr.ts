import { checkDer, DerError, DerReader, tags } from '@signet/policy-engine/internal/der';
import { InvalidRequestError } from '../errors.ts';
import { type RelativeName, readName } from './distinguished-name.ts';
import { oids } from './oids.ts';
import { isSignedBy, readSignatureAlgorithm, type SignatureAlgorithm } from './signature-algorithm.ts';
import { type AltName, readAltNames } from './subject-alt-names.ts';
import { type KeyKind, loadSubjectKey, parseSubjectKey, type SubjectKey, subjectKeyPem } from './subject-key.ts';

/** Certificate request. Its signature was verified: the sender holds the private key. */
export interface CertificateRequest {
  readonly subject: readonly RelativeName[];
  /** The single common name; a request without one, or with two, is refused. */
  readonly commonName: string;
  readonly altNames: readonly AltName[];
  readonly subjectKey: SubjectKey;
}

/** The longest request in PEM characters: RSA of 8192 bits with the names that we allow stays below a quarter of it. */
const maxPemLength = 32_768;

const keyFamilies: Readonly<Record<KeyKind, SignatureAlgorithm['family']>> = {
  'P-256': 'ec',
  'P-384': 'ec',
  rsa: 'rsa',
  ed25519: 'ed25519',
};

const begin = '-----BEGIN ';
const pemGrammar =
  /^-----BEGIN (NEW )?CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END (NEW )?CERTIFICATE REQUEST-----$/;

function decodePem(pem: string): Buffer {
  if (pem.length > maxPemLength) throw new InvalidRequestError('csr is too long');
  const start = pem.indexOf(begin);
  const match = start < 0 ? null : pemGrammar.exec(pem.slice(start).trimEnd());
  const body = match?.[2];
  if (body === undefined) throw new InvalidRequestError('csr must be one PKCS #10 request in PEM form');
  const text = body.replace(/[\r\n]+/g, '');
  const der = Buffer.from(text, 'base64');
  if (der.toString('base64') !== text) throw new InvalidRequestError('csr is not valid base64');
  return der;
}

function signatureAlgorithmOf(reader: DerReader): SignatureAlgorithm {
  const found = readSignatureAlgorithm(reader);
  if (found !== undefined) return found;
  throw new InvalidRequestError('csr signature must be ECDSA or RSA PKCS #1 with SHA-2, or Ed25519');
}

/*
 * A request asks for extensions in one attribute; everything but the alternative names is left aside, as
 * docs/reference/certificates.md#certificate-requests says.
 */
function readExtensions(extensions: DerReader): readonly AltName[] | undefined {
  const seen = new Set<string>();
  let altNames: readonly AltName[] | undefined;
  while (!extensions.done) {
    const extension = extensions.enter(tags.sequence, 'an extension');
    const type = extension.oid('the extension type');
    if (seen.has(type)) throw new DerError('an extension is asked for twice');
    seen.add(type);
    if (extension.next(tags.boolean)) extension.content(tags.boolean, 'the critical flag');
    const value = extension.content(tags.octetString, 'the extension value');
    extension.finish('an extension');
    if (type === oids.subjectAltName.hex) altNames = readAltNames(value);
  }
  return altNames;
}

function readAttributes(attributes: DerReader): readonly AltName[] {
  let altNames: readonly AltName[] | undefined;
  let asked = false;
  while (!attributes.done) {
    const attribute = attributes.enter(tags.sequence, 'an attribute');
    const type = attribute.oid('the attribute type');
    const values = attribute.enter(tags.set, 'the attribute values');
    attribute.finish('an attribute');
    if (type !== oids.extensionRequest.hex) continue;
    if (asked) throw new DerError('extensions are asked for twice');
    asked = true;
    altNames = readExtensions(values.enter(tags.sequence, 'the extensions'));
    values.finish('the attribute values');
  }
  return altNames ?? [];
}

function commonNameOf(subject: readonly RelativeName[]): string {
  const names = subject.filter(({ attribute }) => attribute === 'commonName');
  const [name] = names;
  if (name === undefined || names.length !== 1) {
    throw new InvalidRequestError('csr subject must have exactly one common name');
  }
  return name.value;
}

function readRequest(der: Buffer): CertificateRequest {
  checkDer(der);
  const outer = new DerReader(der).enter(tags.sequence, 'the request');
  const signed = outer.element(tags.sequence, 'the request information');
  const algorithm = signatureAlgorithmOf(outer);
  const signature = outer.bits('the signature');
  outer.finish('the request');

  const info = new DerReader(signed).enter(tags.sequence, 'the request information');
  if (!info.content(tags.integer, 'the version').equals(versionZero)) throw new DerError('the version must be 1');
  const subject = readName(info);
  const spki = info.element(tags.sequence, 'the public key');
  const altNames = info.done ? [] : readAttributes(info.enter(0xa0, 'the attributes'));
  info.finish('the request information');
  const commonName = commonNameOf(subject);
  const subjectKey = parseSubjectKey(spki);
  // Loaded only here: an object for a key costs more than it, and stays until garbage is collected.
  const key = { family: keyFamilies[subjectKey.kind], key: subjectKeyPem(subjectKey) };
  if (!isSignedBy(key, algorithm, { signed, signature })) {
    loadSubjectKey(subjectKey); // throws for what is no key at all
    throw new InvalidRequestError('csr signature was not made with the key that the request holds');
  }
  return { subject, commonName, altNames, subjectKey };
}

const versionZero = Uint8Array.of(0);

/**
 * Reads a certificate request (RFC 2986) in PEM form from untrusted input, in bounded time, and verifies its signature (proof of
 * possession). Asked-for extensions other than alternative names are left aside. Throws `InvalidRequestError`.
 */
export function parseCertificateRequest(pem: string): CertificateRequest {
  const der = decodePem(pem);
  try {
    return readRequest(der);
  } catch (cause) {
    if (cause instanceof DerError) throw new InvalidRequestError(`csr is malformed: ${cause.message}`, { cause });
    throw cause;
  }
}
