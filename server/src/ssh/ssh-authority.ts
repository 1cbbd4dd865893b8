import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { formatSshPublicKey, type SshPublicKey, sshPublicKeyOf } from './ssh-public-key.ts';
import { writeMpint, writePacked, writeString } from './wire.ts';

/** A key that signs SSH certificates. The private key stays inside. */
export interface SshAuthority {
  readonly publicKey: SshPublicKey;
  /** The signature as a certificate carries it: the name of the algorithm and its bytes (RFC 8709 §6, RFC 5656 §3.1.2). */
  sign(data: Uint8Array): Buffer;
}

/** An authority file that cannot be used. Names the file and the rule, never the key. */
export class SshAuthorityError extends Error {
  override readonly name = 'SshAuthorityError';
}

type SshAuthorityKind = 'ed25519' | 'p256';

/** Makes the private key of a new authority: PEM, PKCS #8. Whoever calls writes it to a file of mode 0600. */
export function createSshAuthorityKey(kind: SshAuthorityKind = 'ed25519'): string {
  const { privateKey } =
    kind === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** Reads an authority from a PEM file. Throws `SshAuthorityError` when the file is missing, unreadable or holds another kind of key. */
export function readSshAuthority(file: string): SshAuthority {
  let pem: string;
  try {
    pem = readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new SshAuthorityError(`SSH authority \`${file}\` cannot be read (${code})`);
  }
  return parseSshAuthority(pem, file);
}

/** An authority from PEM text (PKCS #8): Ed25519 or P-256, never RSA. `name` is for the message of `SshAuthorityError`. */
export function parseSshAuthority(pem: string, name: string): SshAuthority {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(pem);
  } catch {
    // The cause is dropped: messages of the library may quote the file.
    throw new SshAuthorityError(`SSH authority \`${name}\` is not a private key in PEM without a password`);
  }
  return sshAuthorityOf(privateKey, name);
}

/** An authority from a private key. Throws `SshAuthorityError`. */
export function sshAuthorityOf(privateKey: KeyObject, name = 'key'): SshAuthority {
  const isEd25519 = privateKey.asymmetricKeyType === 'ed25519';
  if (!isEd25519 && privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new SshAuthorityError(`SSH authority \`${name}\` must be an Ed25519 or a P-256 key`);
  }
  const publicKey = sshPublicKeyOf(createPublicKey(privateKey));
  return {
    publicKey,
    sign: (data) => {
      const signature = isEd25519
        ? writeString(sign(null, data, privateKey))
        : ecdsaSignature(sign('sha256', data, privateKey));
      return Buffer.concat([writeString(publicKey.type), signature]);
    },
  };
}

/** A line for `known_hosts`: hosts that match one of the patterns are known by a certificate of this authority. */
export function knownHostsLine(authority: Pick<SshAuthority, 'publicKey'>, patterns: readonly string[]): string {
  return `@cert-authority ${patterns.join(',')} ${formatSshPublicKey(authority.publicKey)}`;
}

/** A line for the file that `TrustedUserCAKeys` of sshd names. */
export function trustedUserCaLine(
  authority: Pick<SshAuthority, 'publicKey'>,
  comment = 'signet user authority',
): string {
  return `${formatSshPublicKey(authority.publicKey)} ${comment}`;
}

/* Converts the DER of two INTEGERs to the two mpints of RFC 5656 §3.1.2. The server's own signer wrote it: 70 to 72 bytes, short lengths. */
function ecdsaSignature(der: Buffer): Buffer {
  const lengthOfR = der.readUInt8(3);
  const r = der.subarray(4, 4 + lengthOfR);
  const s = der.subarray(6 + lengthOfR);
  return writePacked([writeMpint(r), writeMpint(s)]);
}
