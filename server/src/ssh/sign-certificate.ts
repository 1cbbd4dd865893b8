import type { SshAuthority } from './ssh-authority.ts';
import type { SshProfile } from './ssh-profile.ts';
import type { SshKeyType, SshPublicKey } from './ssh-public-key.ts';
import { writePacked, writeString, writeUint32, writeUint64 } from './wire.ts';

/** The type of a certificate for a key: `ssh-ed25519-cert-v01@openssh.com`. */
export function certificateType(key: SshKeyType): string {
  return `${key}-cert-v01@openssh.com`;
}

/** SSH_CERT_TYPE_USER and SSH_CERT_TYPE_HOST. */
export const certificateKindNumbers = { user: 1, host: 2 } as const;

/** Length of the nonce in bytes. */
export const nonceLength = 32;

/**
 * Assembles and signs a certificate (PROTOCOL.certkeys of OpenSSH); answers its blob. `nonce` is `nonceLength` random bytes,
 * against collisions in the hash that is signed.
 */
export function signSshCertificate(
  profile: SshProfile,
  subject: SshPublicKey,
  authority: SshAuthority,
  nonce: Uint8Array,
): Buffer {
  if (nonce.length !== nonceLength) throw new RangeError(`a nonce has ${nonceLength} bytes`);
  const toBeSigned = Buffer.concat([
    writeString(certificateType(subject.type)),
    writeString(nonce),
    subject.fields,
    writeUint64(profile.serial),
    writeUint32(certificateKindNumbers[profile.kind]),
    writeString(profile.keyId),
    writePacked(profile.principals.map((principal) => writeString(principal))),
    writeUint64(BigInt(profile.validAfter)),
    writeUint64(BigInt(profile.validBefore)),
    // The text of an option is a string inside the string of its data.
    writePacked(
      profile.criticalOptions.flatMap(([name, value]) => [writeString(name), writePacked([writeString(value)])]),
    ),
    writePacked(profile.extensions.flatMap((name) => [writeString(name), writeString('')])),
    writeString(''),
    writeString(authority.publicKey.blob),
  ]);
  return Buffer.concat([toBeSigned, writeString(authority.sign(toBeSigned))]);
}

/** `<type> <base64> <comment>`: the line of a `-cert.pub` file. */
export function formatSshCertificate(blob: Buffer, subject: SshKeyType, comment: string): string {
  return `${certificateType(subject)} ${blob.toString('base64')} ${comment}`;
}
