import type { SshPublicKey } from './ssh-public-key.ts';
import { writePacked, writeString, writeUint8, writeUint32, writeUint64 } from './wire.ts';

/** Revocations of one authority's certificates. */
export interface RevokedBy {
  readonly authority: SshPublicKey;
  /** Serial numbers. Never 0: such a certificate has no number. */
  readonly serials: readonly bigint[];
  /** Every certificate with this key id, those issued later included. */
  readonly keyIds: readonly string[];
}

interface KrlInput {
  /** Version, which never falls from one list to the next. */
  readonly version: bigint;
  /** Seconds since the epoch. */
  readonly generatedAt: number;
  readonly comment?: string | undefined;
  readonly revoked: readonly RevokedBy[];
}

/* PROTOCOL.krl of OpenSSH: "SSHKRL\n\0", format 1; sections are a byte and a string. */
const magic = Buffer.from('SSHKRL\n\0', 'latin1');
const formatVersion = 1;
const certificates = 1;
const serialList = 0x20;
const keyIdList = 0x23;

/**
 * A key revocation list in the binary form that `RevokedKeys` of sshd and `ssh-keygen -Q -f` read. Each section names its
 * authority, so that a number revoked for one does not touch the other's. The list is not signed: it is published over TLS, and sshd
 * reads it from a file that only root writes. Throws `RangeError` for a serial number of 0 or an empty key id.
 */
export function buildKrl(input: KrlInput): Buffer {
  return Buffer.concat([
    magic,
    writeUint32(formatVersion),
    writeUint64(input.version),
    writeUint64(BigInt(input.generatedAt)),
    writeUint64(0n),
    writeString(''),
    writeString(input.comment ?? ''),
    ...input.revoked.map(certificateSection),
  ]);
}

function certificateSection(revoked: RevokedBy): Buffer {
  const serials = inOrder(revoked.serials);
  const keyIds = [...new Set(revoked.keyIds)].sort();
  if (keyIds.includes('')) throw new RangeError('a revoked key id is not empty');
  // A list without entries is an error to OpenSSH, so it is left out.
  if (serials.length === 0 && keyIds.length === 0) return Buffer.alloc(0);
  const lists = [
    ...(serials.length > 0 ? [writeUint8(serialList), writeString(octetsOf(serials))] : []),
    ...(keyIds.length > 0 ? [writeUint8(keyIdList), writePacked(keyIds.map(writeString))] : []),
  ];
  return Buffer.concat([
    writeUint8(certificates),
    writePacked([writeString(revoked.authority.blob), writeString(''), ...lists]),
  ]);
}

/** The largest number of 64 bits. */
const maxSerial = 2n ** 64n - 1n;

/** Each once. Of a typed array, which needs no call for each comparison: there may be a hundred thousand. */
function inOrder(serials: readonly bigint[]): BigUint64Array {
  for (const serial of serials) {
    if (serial <= 0n) throw new RangeError('a revoked serial number is not 0');
    if (serial > maxSerial) throw new RangeError('a revoked serial number has 64 bits');
  }
  return BigUint64Array.from(new Set(serials)).sort();
}

function octetsOf(serials: BigUint64Array): Buffer {
  const octets = Buffer.alloc(serials.byteLength);
  let at = 0;
  for (const serial of serials) at = octets.writeBigUInt64BE(serial, at);
  return octets;
}
