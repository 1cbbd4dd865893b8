import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { certificatesInPem, certificateToPem, keyIdentifierIn, readCertificate } from './certificate-reader.ts';
import type { Issuer, SigningKind } from './issuer.ts';
import { nameConstraintsIn } from './name-constraints.ts';
import { keyBits, keyIdentifierOf } from './subject-key.ts';

/** Files of an issuer: its certificate with the chain that follows it, and its private key, both PEM. */
export interface IssuerFiles {
  readonly certificate: string;
  readonly key: string;
}

/** An issuer that cannot be used. The message names the file and holds nothing of the key. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
}

function signingKind(key: KeyObject): SigningKind {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'ec' && details?.namedCurve === 'prime256v1') return 'P-256';
  if (type === 'ec' && details?.namedCurve === 'secp384r1') return 'P-384';
  if (type === 'rsa' && (details?.modulusLength ?? 0) >= 2048) return 'rsa';
  throw new IssuerError('its key must be P-256, P-384 or RSA of at least 2048 bits');
}

function loadPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new IssuerError('its private key cannot be read');
  }
}

/** Chain to send: each certificate must have issued the one before it; a root at the end is left out, as verifiers have it. */
function checkChain(ders: readonly Buffer[]): readonly X509Certificate[] {
  const chain = ders.map((der) => new X509Certificate(der));
  for (const [index, certificate] of chain.entries()) {
    if (!certificate.ca) throw new IssuerError('its chain holds a certificate that is not an authority');
    const next = chain[index + 1];
    if (next !== undefined && !(certificate.checkIssued(next) && certificate.verify(next.publicKey))) {
      throw new IssuerError('its chain is not in order: each certificate must be issued by the next one');
    }
  }
  return chain.filter((certificate, index) => index === 0 || !certificate.checkIssued(certificate));
}

/**
 * An issuer from PEM texts: the certificate first, then its chain. `{issuer}` in the addresses of its list stands for its id. Throws
 * `IssuerError` saying what does not fit.
 */
export function issuerFromPem(
  certificatePem: string,
  keyPem: string,
  distributionPoints: readonly string[] = [],
): Issuer {
  const ders = certificatesInPem(certificatePem);
  const [first = Buffer.alloc(0)] = ders;
  const privateKey = loadPrivateKey(keyPem);
  const own = readCertificate(first);
  const publicKey = createPublicKey(privateKey);
  if (!own.spki.equals(publicKey.export({ type: 'spki', format: 'der' })))
    throw new IssuerError('its private key is not the one of its certificate');
  const keyIdentifier = keyIdentifierIn(own) ?? keyIdentifierOf(keyBits(own.spki));
  const id = keyIdentifier.toString('hex');
  return {
    id,
    distributionPoints: distributionPoints.map((address) => address.replace('{issuer}', id)),
    name: own.subject,
    keyIdentifier,
    kind: signingKind(privateKey),
    privateKey,
    publicKey,
    notBefore: own.notBefore,
    notAfter: own.notAfter,
    nameConstraints: nameConstraintsIn(ders),
    chainPem: checkChain(ders)
      .map(({ raw }) => certificateToPem(raw))
      .join(''),
  };
}
