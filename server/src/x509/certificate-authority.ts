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
  const parsed = await sign(clock, days, `CN=${name},O=Signet`, keys, issuer, [
    new x509.BasicConstraintsExtension(true, issuer === undefined ? undefined : 0, true),
    new x509.KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ]);
  return { ...toPem(parsed, keys), parsed, signingKey: keys.privateKey };
}

/** Who a service certificate is for. */
export interface ServiceIdentity {
  readonly domain: DomainName;
  readonly service: ServiceName;
  /** Host of the SPIFFE id, lower-case. */
  readonly trustDomain: string;
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
  return issueLeaf(authority, identity, [], days, clock);
}

/** As `issueIdentity`, with the names and addresses that a server is reached by. */
export function issueServerCertificate(
  authority: Authority,
  identity: ServiceIdentity,
  hosts: readonly string[],
  days: number,
  clock: Clock,
): Promise<CertificateAndKey> {
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value }));
  return issueLeaf(authority, identity, names, days, clock);
}

async function issueLeaf(
  authority: Authority,
  { domain, service, trustDomain }: ServiceIdentity,
  names: x509.JsonGeneralNames,
  days: number,
  clock: Clock,
): Promise<CertificateAndKey> {
  const principal = servicePrincipal(domain, service);
  if (principal.length > maxCommonName) {
    throw new InvalidRequestError(`\`${principal}\` is longer than the ${maxCommonName} characters of a common name`);
  }
  const keys = await generateKeys();
  const uri = `spiffe://${trustDomain}/ns/default/sa/${principal}`;
  const leaf = await sign(clock, days, `CN=${principal}`, keys, authority, [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([{ type: 'url', value: uri }, ...names]),
  ]);
  const { certificate, key } = toPem(leaf, keys);
  return { certificate: `${certificate}${authority.certificate}`, key };
}

async function sign(
  clock: Clock,
  days: number,
  subject: string,
  keys: webcrypto.CryptoKeyPair,
  issuer: Authority | undefined,
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
