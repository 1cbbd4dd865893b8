import { createPublicKey, type KeyObject } from 'node:crypto';
import { InvalidRequestError } from '../errors.ts';

const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1'];

/** Upper bound (exclusive) of an RSA exponent: the time of a verification grows with its length. */
const rsaExponentEnd = 2n ** 32n;

/**
 * The public key in `pem`, written again as SPKI PEM. P-256, P-384, P-521, RSA from 2048 to 8192 bits and Ed25519 are accepted. A private key is
 * refused, as it should not have come here. Throws `InvalidRequestError`, which never quotes the text.
 */
export function parsePublicKey(pem: string): string {
  if (pem.includes('PRIVATE KEY'))
    throw new InvalidRequestError('a private key was given where a public one is needed');
  if (!pem.includes('PUBLIC KEY')) throw new InvalidRequestError('is not a public key in PEM');
  const key = readKey(pem);
  if (!isAccepted(key)) {
    throw new InvalidRequestError(
      'is a key of a kind that is not accepted: use P-256, P-384, P-521, RSA 2048 or more, or Ed25519',
    );
  }
  const { publicExponent = 3n } = key.asymmetricKeyDetails ?? {};
  if (publicExponent < 3n || publicExponent % 2n === 0n || publicExponent >= rsaExponentEnd) {
    throw new InvalidRequestError(
      'is an RSA key whose exponent is not accepted: it must be odd, 3 or more and below 2^32',
    );
  }
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

function readKey(pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (error) {
    throw new InvalidRequestError('is not a public key in PEM', { cause: error });
  }
}

function isAccepted(key: KeyObject): boolean {
  const details = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return true;
    case 'ec':
      return curves.includes(details.namedCurve);
    case 'rsa':
      return (details.modulusLength ?? 0) >= 2048 && (details.modulusLength ?? 0) <= 8192;
    default:
      return false;
  }
}
