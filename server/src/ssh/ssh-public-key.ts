import { createPublicKey, hash, type JsonWebKey, type KeyObject } from 'node:crypto';
import { InvalidRequestError } from '../errors.ts';
import { SshReader, SshWireError, writeMpint, writeString } from './wire.ts';

/** The kinds of keys that get a certificate. */
export const sshKeyTypes = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
] as const;
export type SshKeyType = (typeof sshKeyTypes)[number];

export interface SshPublicKey {
  readonly type: SshKeyType;
  /** The key as it stands in a public key line and on the wire (RFC 4253 §6.6). */
  readonly blob: Buffer;
  /** The fields of `blob` after the name of its type: what a certificate repeats. */
  readonly fields: Buffer;
  readonly key: KeyObject;
  /** `SHA256:` and the digest of `blob`, as `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

const curves = {
  'ecdsa-sha2-nistp256': { name: 'nistp256', jwk: 'P-256', bytes: 32 },
  'ecdsa-sha2-nistp384': { name: 'nistp384', jwk: 'P-384', bytes: 48 },
  'ecdsa-sha2-nistp521': { name: 'nistp521', jwk: 'P-521', bytes: 66 },
} as const;

const minRsaBits = 2048;
const maxRsaBits = 8192;

/** The longest public key line accepted, comment included. */
export const maxKeyLineLength = 4096;

const keyLine = /^(\S+) +([A-Za-z0-9+/]+={0,2})(?: [^\p{Cc}]*)?$/u;

/**
 * Reads `<type> <base64> [comment]`, the line of a `.pub` file; the comment is dropped. Ed25519, ECDSA on the three NIST curves
 * and RSA of 2048 to 8192 bits. Throws `InvalidRequestError`, its message begins with `field`.
 */
export function parseSshPublicKey(line: string, field = 'publicKey'): SshPublicKey {
  const match = line.length <= maxKeyLineLength ? keyLine.exec(line.trim()) : null;
  const [, type = '', base64 = ''] = match ?? [];
  if (match === null) throw new InvalidRequestError(`${field} must be one line: type, key in Base64, comment`);
  const blob = Buffer.from(base64, 'base64');
  if (blob.toString('base64') !== base64) throw new InvalidRequestError(`${field} is not Base64`);
  try {
    const key = readSshPublicKey(blob);
    if (key.type !== type) throw new SshWireError('the type before the key must be that of the key');
    return key;
  } catch (error) {
    if (error instanceof SshWireError) throw new InvalidRequestError(`${field}: ${error.message}`);
    throw error;
  }
}

/** Reads the blob of a public key. Throws `SshWireError`. */
export function readSshPublicKey(blob: Uint8Array): SshPublicKey {
  const reader = new SshReader(blob);
  const name = reader.string('the key type').toString('latin1');
  const type = sshKeyTypes.find((known) => known === name);
  if (type === undefined) throw new SshWireError(`the key type must be one of ${sshKeyTypes.join(', ')}`);
  const { key, fields } = readSshKeyFields(type, reader);
  reader.finish('the key');
  return describe(type, fields, key);
}

/** Reads the fields of a key of a known type where they stand inside a longer blob. Throws `SshWireError`. */
export function readSshKeyFields(type: SshKeyType, reader: SshReader): { fields: Buffer; key: KeyObject } {
  const { fields, jwk } =
    type === 'ssh-ed25519' ? ed25519(reader) : type === 'ssh-rsa' ? rsa(reader) : ecdsa(type, reader);
  try {
    return { fields, key: createPublicKey({ format: 'jwk', key: jwk }) };
  } catch (error) {
    throw new SshWireError('the key is not a valid key of its type', { cause: error });
  }
}

/** The SSH form of a public key that we hold as an object. Throws `SshWireError` for kinds that SSH or this server does not know. */
export function sshPublicKeyOf(key: KeyObject): SshPublicKey {
  const jwk = key.export({ format: 'jwk' });
  const bytes = (part: string | undefined) => Buffer.from(part ?? '', 'base64url');
  if (jwk.crv === 'Ed25519') return describe('ssh-ed25519', writeString(bytes(jwk.x)), key);
  for (const type of ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'] as const) {
    if (jwk.crv !== curves[type].jwk) continue;
    const point = Buffer.concat([Buffer.of(4), bytes(jwk.x), bytes(jwk.y)]);
    return describe(type, Buffer.concat([writeString(curves[type].name), writeString(point)]), key);
  }
  throw new SshWireError('the key must be Ed25519 or on a NIST curve');
}

/** `<type> <base64>`: the key as files of OpenSSH hold it. */
export function formatSshPublicKey(key: SshPublicKey): string {
  return `${key.type} ${key.blob.toString('base64')}`;
}

function describe(type: SshKeyType, fields: Buffer, key: KeyObject): SshPublicKey {
  const blob = Buffer.concat([writeString(type), fields]);
  const fingerprint = `SHA256:${hash('sha256', blob, 'base64').replace(/=+$/, '')}`;
  return { type, blob, fields, key, fingerprint };
}

interface KeyFields {
  readonly fields: Buffer;
  readonly jwk: JsonWebKey;
}

function ed25519(reader: SshReader): KeyFields {
  const bytes = reader.string('the Ed25519 key');
  if (bytes.length !== 32) throw new SshWireError('an Ed25519 key must have 32 bytes');
  return { fields: writeString(bytes), jwk: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') } };
}

function ecdsa(type: keyof typeof curves, reader: SshReader): KeyFields {
  const curve = curves[type];
  if (reader.string('the curve').toString('latin1') !== curve.name) {
    throw new SshWireError(`the curve of ${type} must be ${curve.name}`);
  }
  const point = reader.string('the point');
  if (point.length !== 1 + 2 * curve.bytes || point[0] !== 4) {
    throw new SshWireError('the point must be uncompressed and of its curve');
  }
  const [x, y] = [point.subarray(1, 1 + curve.bytes), point.subarray(1 + curve.bytes)];
  const jwk = { kty: 'EC', crv: curve.jwk, x: x.toString('base64url'), y: y.toString('base64url') };
  return { fields: Buffer.concat([writeString(curve.name), writeString(point)]), jwk };
}

/* Sizes are compared before any arithmetic: its cost grows faster than the key. */
function rsa(reader: SshReader): KeyFields {
  const exponent = reader.mpint('the RSA exponent');
  const modulus = reader.mpint('the RSA modulus');
  const bits = modulus.length * 8 - (Math.clz32(modulus[0] ?? 0) - 24);
  if (bits < minRsaBits || bits > maxRsaBits) {
    throw new SshWireError(`RSA keys must have ${minRsaBits} to ${maxRsaBits} bits`);
  }
  const value = exponent.length > 4 ? 0 : exponent.readUIntBE(0, exponent.length);
  if (value < 3 || value % 2 === 0) throw new SshWireError('the RSA exponent must be odd, 3 or more and below 2^32');
  if (((modulus.at(-1) ?? 0) & 1) === 0) throw new SshWireError('the RSA modulus must be odd');
  const jwk = { kty: 'RSA', n: modulus.toString('base64url'), e: exponent.toString('base64url') };
  return { fields: Buffer.concat([writeMpint(exponent), writeMpint(modulus)]), jwk };
}
