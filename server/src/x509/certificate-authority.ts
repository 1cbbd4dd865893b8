import 'reflect-metadata';
import { KeyObject, randomBytes, type webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { type Clock, epochSeconds, toDate } from '@signet/policy-engine/clock';
import { type DomainName, type ServiceName, servicePrincipal } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../errors.ts';
import { serialFrom, serialRandomOctets, writeDistributionPoints } from './build-certificate.ts';
import { buildCrl, crlBackdateSeconds, crlToPem, nextCrlNumber } from './crl.ts';
import { issuerFromPem } from './issuer-files.ts';
import { type ConstrainedNames, writeNameConstraints } from './name-constraints.ts';

/** A certificate with its private key, both as PEM. */
export interface CertificateAndKey {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority in memory. */
export interface Authority extends CertificateAndKey {
  readonly parsed: x509.X509Certificate;
  readonly signingKey: webcrypto.CryptoKey;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const secondMs = 1000;
const dayMs = 86_400 * secondMs;
/** Verifiers' clocks may be behind. */
const backdateMs = 3600 * secondMs;
/** RFC 5280, ub-common-name. */
const maxCommonName = 64;

interface IntermediateOptions {
  /** Trust domain whose SPIFFE id it carries, as an authority that signs X509-SVIDs (SPIFFE X509-SVID §3.1). */
  readonly trustDomain?: string | undefined;
  /** The names that it may certify; without any it may certify all. */
  readonly names?: ConstrainedNames | undefined;
  /** Addresses of the revocation list of the root, with `{issuer}`. */
  readonly distributionPoints?: readonly string[] | undefined;
}

/** A self-signed root for ten years, and one below it for five that may sign only leaves; keys on P-256. */
export async function createAuthorities(
  clock: Clock,
  options: IntermediateOptions = {},
): Promise<{ root: Authority; intermediate: Authority }> {
  const root = await createAuthority(clock, { name: 'Signet Root CA', days: 3650 });
  const own = { name: 'Signet Intermediate CA', days: 1825, issuer: root };
  return { root, intermediate: await createAuthority(clock, { ...own, extensions: extensionsOf(root, options) }) };
}

function extensionsOf(root: Authority, { trustDomain, names, distributionPoints }: IntermediateOptions) {
  const extensions: x509.Extension[] = [];
  if (trustDomain !== undefined) {
    extensions.push(new x509.SubjectAlternativeNameExtension([{ type: 'url', value: `spiffe://${trustDomain}` }]));
  }
  if (names !== undefined) extensions.push(new x509.Extension(nameConstraintsOid, true, writeNameConstraints(names)));
  extensions.push(...pointsExtension(root, distributionPoints));
  return extensions;
}

/* Text form, for the library. */
const nameConstraintsOid = '2.5.29.30';
const distributionPointsOid = '2.5.29.31';

/** Extension with the address of an authority's list, for the certificates that it signs; none without addresses. */
function pointsExtension(issuer: Authority, addresses: readonly string[] = []): readonly x509.Extension[] {
  if (addresses.length === 0) return [];
  const { distributionPoints } = issuerFromPem(issuer.certificate, issuer.key, addresses);
  return [new x509.Extension(distributionPointsOid, false, writeDistributionPoints(distributionPoints))];
}

interface NewAuthority {
  readonly name: string;
  readonly days: number;
  /** Issuing authority; absent for a root. */
  readonly issuer?: Authority;
  readonly extensions?: readonly x509.Extension[];
}

async function createAuthority(
  clock: Clock,
  { name, days, issuer, extensions = [] }: NewAuthority,
): Promise<Authority> {
  const keys = await generateKeys();
  const { KeyUsageFlags } = x509;
  const parsed = await sign({ subject: `CN=${name},O=Signet`, days, keys }, issuer, clock, [
    new x509.BasicConstraintsExtension(true, issuer === undefined ? undefined : 0, true),
    new x509.KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ...extensions,
  ]);
  return { ...toPem(parsed, keys), parsed, signingKey: keys.privateKey };
}

/** The revocation list of an authority that has revoked nothing, as long as it lives; PEM. */
export async function firstRevocationList({ certificate, key }: CertificateAndKey, clock: Clock): Promise<string> {
  const issuer = issuerFromPem(certificate, key);
  const now = epochSeconds(clock);
  const times = { thisUpdate: now - crlBackdateSeconds, nextUpdate: issuer.notAfter };
  return crlToPem(await buildCrl(issuer, { revoked: [], number: nextCrlNumber(0n, now), ...times }));
}

/** Service that a certificate is for. */
interface ServiceIdentity {
  readonly domain: DomainName;
  readonly service: ServiceName;
  /** Host of the SPIFFE id, lower-case. */
  readonly trustDomain: string;
  /** Addresses of the revocation list of the authority, with `{issuer}`. */
  readonly distributionPoints?: readonly string[] | undefined;
}

/** Server that a certificate is for. */
interface ServerIdentity extends ServiceIdentity {
  /** The names and addresses that it is reached by. */
  readonly hosts: readonly string[];
}

/**
 * A client certificate for a service: CN `domain.service`, one URI name (its SPIFFE id, so that it is an X509-SVID), and a new key; with a DNS
 * name below the trust domain where the authority has name constraints, for OpenSSL takes the CN for one else. Throws `InvalidRequestError` when the name does not fit a common name.
 */
export function issueIdentity(
  authority: Authority,
  identity: ServiceIdentity,
  days: number,
  clock: Clock,
): Promise<CertificateAndKey> {
  const { domain, service, trustDomain } = identity;
  const isConstrained = authority.parsed.getExtension(nameConstraintsOid) !== null;
  const hosts = isConstrained ? [`${service}.${domain}.${trustDomain}`] : [];
  return issueServerCertificate(authority, { ...identity, hosts }, days, clock);
}

/** Issues like `issueIdentity`, with the names and addresses that a server is reached by. */
export async function issueServerCertificate(
  authority: Authority,
  { domain, service, trustDomain, hosts, distributionPoints }: ServerIdentity,
  days: number,
  clock: Clock,
): Promise<CertificateAndKey> {
  const principal = servicePrincipal(domain, service);
  if (principal.length > maxCommonName) {
    throw new InvalidRequestError(`\`${principal}\` is longer than the ${maxCommonName} characters of a common name`);
  }
  const keys = await generateKeys();
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
  const uri = `spiffe://${trustDomain}/ns/default/sa/${principal}`;
  const leaf = await sign({ subject: `CN=${principal}`, days, keys }, authority, clock, [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([{ type: 'url', value: uri }, ...names]),
    ...pointsExtension(authority, distributionPoints),
  ]);
  const { certificate, key } = toPem(leaf, keys);
  return { certificate: `${certificate}${authority.certificate}`, key };
}

/** Subject and validity period of a certificate. */
interface CertificateHolder {
  readonly subject: string;
  readonly days: number;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** Signs a certificate; without an issuer by its own key. */
async function sign(
  { subject, days, keys }: CertificateHolder,
  issuer: Authority | undefined,
  clock: Clock,
  extensions: x509.Extension[],
): Promise<x509.X509Certificate> {
  const wanted = clock.now() + days * dayMs;
  return await x509.X509CertificateGenerator.create({
    serialNumber: serialFrom(epochSeconds(clock), randomBytes(serialRandomOctets)).toString('hex'),
    subject,
    issuer: issuer?.parsed.subject ?? subject,
    notBefore: toDate(wholeSeconds(clock.now() - backdateMs)),
    notAfter: toDate(wholeSeconds(issuer === undefined ? wanted : Math.min(wanted, issuer.parsed.notAfter.getTime()))),
    publicKey: keys.publicKey,
    signingKey: issuer?.signingKey ?? keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      ...extensions,
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await authorityKeyId(issuer, keys.publicKey),
    ],
  });
}

/** The id that the issuer's own certificate has: there is more than one way to compute it (RFC 5280 §4.2.1.1). */
async function authorityKeyId(
  issuer: Authority | undefined,
  ownKey: webcrypto.CryptoKey,
): Promise<x509.AuthorityKeyIdentifierExtension> {
  const known = issuer?.parsed.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  if (known !== undefined) return new x509.AuthorityKeyIdentifierExtension(known);
  const key = issuer === undefined ? ownKey : await issuer.parsed.publicKey.export(algorithm, ['verify']);
  return x509.AuthorityKeyIdentifierExtension.create(key);
}

/** Certificates hold whole seconds. */
function wholeSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / secondMs) * secondMs;
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function toPem(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): CertificateAndKey {
  const key = KeyObject.from(keys.privateKey).export({ format: 'pem', type: 'pkcs8' }).toString();
  return { certificate: `${certificate.toString('pem').trim()}\n`, key };
}
