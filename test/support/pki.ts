import 'reflect-metadata';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { type Clock, systemClock, toDate } from '@signet/policy-engine/clock';
import { parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import {
  type Authority,
  type CertificateAndKey,
  createAuthorities,
  firstRevocationList,
  issueIdentity,
  issueServerCertificate,
} from '@signet/server/x509/certificate-authority';

const dayMs = 86_400_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Differences from a proper client certificate. */
export interface OddCertificate {
  readonly subject: string | x509.JsonName;
  /** Milliseconds since the epoch; default: from an hour ago to a day from now. */
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly isAuthority?: boolean;
  /** OIDs of its extended key usages; default: client authentication. */
  readonly usages?: readonly string[] | 'none';
  readonly selfSigned?: boolean;
}

/** A throw-away identity system: a root, an intermediate, and whatever certificates a test needs. */
export interface Pki {
  /** PEM of the root: what a server trusts. */
  readonly bundle: string;
  /** PEM of the root's revocation list, with nothing on it. */
  readonly rootList: string;
  /** The intermediate, for a server that issues certificates itself. */
  readonly issuer: CertificateAndKey;
  /** A proper service certificate with its chain. */
  identity(name: string, days?: number): Promise<CertificateAndKey>;
  /** A certificate for this machine, of the token server or of another service. */
  server(name?: string): Promise<CertificateAndKey>;
  /** A certificate that is wrong in some way, with its chain. */
  odd(certificate: OddCertificate): Promise<CertificateAndKey>;
}

/** Makes the two authorities; every certificate is made when it is asked for. */
export async function createPki(clock: Clock = systemClock): Promise<Pki> {
  const { root, intermediate } = await createAuthorities(clock);
  return {
    bundle: root.certificate,
    rootList: await firstRevocationList(root, clock),
    issuer: { certificate: intermediate.certificate, key: intermediate.key },
    identity: (name, days = 30) => issueIdentity(intermediate, identityOf(name), days, clock),
    server: (name = 'sys.auth.server') =>
      issueServerCertificate(
        intermediate,
        { ...identityOf(name), hosts: ['localhost', '127.0.0.1', '::1'] },
        30,
        clock,
      ),
    odd: (certificate) => issueOdd(intermediate, certificate, clock),
  };
}

function identityOf(name: string) {
  const parts = splitPrincipal(parsePrincipalName(name));
  if (parts === undefined) throw new Error(`${name} is not a service`);
  return { ...parts, trustDomain: 'signet.test' };
}

async function issueOdd(authority: Authority, odd: OddCertificate, clock: Clock): Promise<CertificateAndKey> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const name = new x509.Name(odd.subject);
  const usages = odd.usages ?? [x509.ExtendedKeyUsage.clientAuth];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: `40${Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString('hex')}`,
    subject: name,
    issuer: odd.selfSigned === true ? name : authority.parsed.subjectName,
    notBefore: toDate(odd.notBefore ?? clock.now() - dayMs / 24),
    notAfter: toDate(odd.notAfter ?? clock.now() + dayMs),
    publicKey: keys.publicKey,
    signingKey: odd.selfSigned === true ? keys.privateKey : authority.signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(odd.isAuthority ?? false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      ...(usages === 'none' ? [] : [new x509.ExtendedKeyUsageExtension([...usages])]),
    ],
  });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  return {
    certificate: `${certificate.toString('pem').trim()}\n${authority.certificate}`,
    key: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}

/** `x5t#S256` of the first certificate of a PEM text, by Node's own account. */
export function thumbprintOf(pem: string): string {
  return Buffer.from(new X509Certificate(pem).fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
}
