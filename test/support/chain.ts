import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { systemClock, toDate } from '@signet/policy-engine/clock';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Certificates as PEM. */
export interface Chain {
  readonly root: string;
  readonly intermediates: readonly string[];
  readonly leaf: string;
}

/** A leaf and what leads from it to a root: `length` certificates without the root. */
export async function issueChain(length: number): Promise<Chain> {
  const now = systemClock.now();
  const life = { notBefore: toDate(now - 3_600_000), notAfter: toDate(now + 86_400_000) };
  const generate = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  let keys = await generate();
  const made = [
    await x509.X509CertificateGenerator.createSelfSigned({
      ...life,
      name: 'CN=root',
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
    }),
  ];
  for (let index = 0; index < length; index += 1) {
    const next = await generate();
    made.push(
      await x509.X509CertificateGenerator.create({
        ...life,
        subject: `CN=below-${index}`,
        issuer: `CN=${index === 0 ? 'root' : `below-${index - 1}`}`,
        publicKey: next.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: [new x509.BasicConstraintsExtension(index < length - 1, undefined, true)],
      }),
    );
    keys = next;
  }
  const [root = '', ...below] = made.map((certificate) => `${certificate.toString('pem')}\n`);
  return { root, intermediates: below.slice(0, -1), leaf: below.at(-1) ?? '' };
}
