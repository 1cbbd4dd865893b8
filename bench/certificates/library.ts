import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { systemClock, toDate } from '@signet/policy-engine/clock';
import type { Authority } from '@signet/server/x509/certificate-authority';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const lifeMs = 86_400_000;

/** Issuing by the certificate library's own interface: read, verify, generate. */
export function issueWithLibrary(pem: string, authority: Authority): () => Promise<string> {
  return async () => {
    const request = new x509.Pkcs10CertificateRequest(pem);
    if (!(await request.verify())) throw new Error('the request was not made with its key');
    const now = systemClock.now();
    const certificate = await x509.X509CertificateGenerator.create({
      subject: request.subject,
      issuer: authority.parsed.subject,
      notBefore: toDate(now - 3_600_000),
      notAfter: toDate(now + lifeMs),
      publicKey: request.publicKey,
      signingKey: authority.signingKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.SubjectAlternativeNameExtension([
          { type: 'url', value: 'spiffe://signet.bench/ns/default/sa/media.player' },
        ]),
        await x509.SubjectKeyIdentifierExtension.create(request.publicKey),
        await x509.AuthorityKeyIdentifierExtension.create(authority.parsed.publicKey),
      ],
    });
    return certificate.toString('pem');
  };
}
