import 'reflect-metadata';
import { KeyObject, randomBytes, type webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { type Clock, epochSeconds, toDate } from '@signet/policy-engine/clock';
import { type DomainName, type ServiceName, servicePrincipal } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../errors.ts';
import { serialFrom, serialRandomOctets } from './build-certificate.ts';

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
/** Clocks of verifiers may be behind ours. */
const backdateMs = 3600 * secondMs;
/** RFC 5280, ub-common-name. */
const maxCommonName = 64;

/** A self-signed root for ten years, and one below it for five that may sign only leaves; keys on P-256. */
export async function createAuthorities(clock: Clock): Promise<{ root: Authority; intermediate: Authority }> {
  const root = await createAuthority(clock, 'Signet Root CA', 3650);
  return { root, intermediate: await createAuthority(clock, 'Signet Intermediate CA', 1825, root) };
}

async function createAuthority(clock: Clock, name: string, days: number, issuer?: Authority): Promise<Authority> {
  const keys = await generateKeys();
  const { KeyUsageFlags } = x509;
  const parsed = await sign({ subject: `CN=${name},O=Signet`, days, keys }, issuer, clock, [
    new x509.BasicConstraintsExtension(true, issuer === undefined ? undefined : 0, true),
    new x509.KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ]);
  return { ...toPem(parsed, keys), parsed, signingKey: keys.privateKey };
}

/** Who a service certificate is for. */
interface ServiceIdentity {
  readonly domain: DomainName;
  readonly service: ServiceName;
  /** Host of the SPIFFE id, lower-case. */
  readonly trustDomain: string;
}

/** Who the certificate of a server is for. */
interface ServerIdentity extends ServiceIdentity {
  /** The names and addresses that it is reached by. */
  readonly hosts: readonly string[];
}

/**
 * A client certificate for a service: CN `domain.service`, one URI name (its SPIFFE id, so that it is an X509-SVID), and a new key.
 * Throws `InvalidRequestError` when the name does not fit a common name.
 */
export function issueIdentity(
  authority: Authority,
  identity: ServiceIdentity,
  days: number,
  clock: Clock,
): Promise<CertificateAndKey> {
  return issueServerCertificate(authority, { ...identity, hosts: [] }, days, clock);
}

/** As `issueIdentity`, with the names and addresses that a server is reached by. */
export async function issueServerCertificate(
  authority: Authority,
  { domain, service, trustDomain, hosts }: ServerIdentity,
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
  ]);
  const { certificate, key } = toPem(leaf, keys);
  return { certificate: `${certificate}${authority.certificate}`, key };
}

/** Whose certificate is signed, and for how long. */
interface CertificateHolder {
  readonly subject: string;
  readonly days: number;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** Without an issuer by its own key. */
async function sign(
  { subject, days, keys }: CertificateHolder,
  issuer: Authority | undefined,
  clock: Clock,
  extensions: x509.Extension[],
): Promise<x509.X509Certificate> {
  const wanted = clock.now() + days * dayMs;
  const issuerKey = issuer === undefined ? keys.publicKey : await issuer.parsed.publicKey.export(algorithm, ['verify']);
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
      await x509.AuthorityKeyIdentifierExtension.create(issuerKey),
    ],
  });
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
