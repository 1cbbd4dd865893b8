import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  hkdfSync,
  type KeyObject,
  randomBytes as randomBytesOfNode,
} from 'node:crypto';
import type { SealedKey, SigningKeyRecord } from '../model/records.ts';
import { publicJwkOf } from './new-signing-key.ts';

/** Name that a sealed private half is bound to: moved to another row, it does not open. */
export type KeyName = Pick<SigningKeyRecord, 'kid' | 'purpose' | 'algorithm'>;

/** A sealed private half cannot be opened, or holds another key. */
export class SealedKeyError extends Error {
  override readonly name = 'SealedKeyError';
}

/** Seals private halves with the present sealing key, and opens those that it or an earlier one sealed. */
export interface Sealing {
  /** The id of the present sealing key. */
  readonly id: string;
  /** True if a sealing key of that id is here. */
  knows(id: string): boolean;
  seal(name: KeyName, privateKey: KeyObject): SealedKey;
  /** Throws `SealedKeyError`. */
  open(name: KeyName, sealed: SealedKey): KeyObject;
}

interface DerivedKey {
  readonly id: string;
  readonly aes: Uint8Array;
}

const cipher = 'aes-256-gcm';
const [nonceBytes, tagBytes] = [12, 16];
/** Version, nonce, ciphertext and tag. */
const form = /^v1\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{1,1000})\.([A-Za-z0-9_-]{22})$/;

/** Sealing by keys of 32 random bytes each: the present one first. */
export function createSealing(
  [present, ...previous]: readonly [Uint8Array, ...Uint8Array[]],
  randomBytes: (length: number) => Uint8Array = randomBytesOfNode,
): Sealing {
  const own = derive(present);
  const known = new Map([...previous.map(derive), own].map((key) => [key.id, key]));
  return {
    id: own.id,
    knows: (id) => known.has(id),
    seal(name, privateKey) {
      const plain = privateKey.export({ format: 'der', type: 'pkcs8' });
      try {
        return { sealingKey: own.id, text: encrypted(own, name, plain, randomBytes(nonceBytes)) };
      } finally {
        plain.fill(0);
      }
    },
    open(name, sealed) {
      const key = known.get(sealed.sealingKey);
      if (key === undefined) {
        throw new SealedKeyError(
          `signing key \`${name.kid}\` is sealed with the sealing key \`${sealed.sealingKey}\`, which is not configured here`,
        );
      }
      return opened(key, name, sealed.text);
    },
  };
}

/** The id says nothing of the key that encrypts: both come from the sealing key, by one-way functions of their own (RFC 5869). */
function derive(sealingKey: Uint8Array): DerivedKey {
  const of = (use: string, length: number) =>
    new Uint8Array(hkdfSync('sha256', sealingKey, '', `signet signing keys v1 ${use}`, length));
  return { id: Buffer.from(of('id', 8)).toString('hex'), aes: of(cipher, 32) };
}

/** JSON tells the parts apart, whatever they hold. */
function boundTo({ id }: DerivedKey, { kid, purpose, algorithm }: KeyName): Buffer {
  return Buffer.from(JSON.stringify(['signet signing key v1', id, kid, purpose, algorithm]));
}

function encrypted(key: DerivedKey, name: KeyName, plain: Uint8Array, nonce: Uint8Array): string {
  const encryption = createCipheriv(cipher, key.aes, nonce, { authTagLength: tagBytes }).setAAD(boundTo(key, name));
  const body = Buffer.concat([encryption.update(plain), encryption.final()]);
  const parts = [nonce, body, encryption.getAuthTag()].map((part) => Buffer.from(part).toString('base64url'));
  return ['v1', ...parts].join('.');
}

function opened(key: DerivedKey, name: KeyName, text: string): KeyObject {
  const plain = decrypted(key, name, text);
  try {
    const privateKey = createPrivateKey({ key: plain, format: 'der', type: 'pkcs8' });
    if (publicJwkOf(privateKey).kid !== name.kid) throw new TypeError('another key');
    return privateKey;
  } catch {
    throw new SealedKeyError(`the sealed data of signing key \`${name.kid}\` is another key`);
  } finally {
    plain.fill(0);
  }
}

function decrypted(key: DerivedKey, name: KeyName, text: string): Buffer {
  const parts = form.exec(text)?.slice(1) ?? [];
  const [nonce, body, tag] = parts.map((part) => Buffer.from(part, 'base64url'));
  const isExact = `v1.${[nonce, body, tag].map((part) => part?.toString('base64url')).join('.')}` === text;
  if (nonce === undefined || body === undefined || tag === undefined || !isExact) throw damaged(name);
  const decryption = createDecipheriv(cipher, key.aes, nonce, { authTagLength: tagBytes });
  decryption.setAAD(boundTo(key, name)).setAuthTag(tag);
  const start = decryption.update(body);
  try {
    return Buffer.concat([start, decryption.final()]);
  } catch {
    throw damaged(name);
  } finally {
    start.fill(0);
  }
}

function damaged({ kid }: KeyName): SealedKeyError {
  return new SealedKeyError(`the sealed private key of signing key \`${kid}\` was changed or truncated`);
}
