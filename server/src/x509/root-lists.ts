import { X509Certificate } from 'node:crypto';
import { certificatesInPem, keyIdentifierIn, readCertificate } from './certificate-reader.ts';
import { crlFromFile, isCrlOf, readCrl } from './crl-reader.ts';
import { IssuerError } from './issuer-files.ts';
import { keyBits, keyIdentifierOf } from './subject-key.ts';

/** The revocation list of a root, which was made where the root's key is. Times in seconds since the epoch. */
export interface RootList {
  /** The root's subject key identifier in hexadecimal. */
  readonly id: string;
  /** Number, as far as JavaScript's precision holds it. */
  readonly number: number;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  readonly der: Buffer;
}

interface Root {
  readonly id: string;
  readonly name: Buffer;
  readonly publicKey: X509Certificate['publicKey'];
}

function rootOf(der: Buffer): Root {
  const own = readCertificate(der);
  const identifier = keyIdentifierIn(own) ?? keyIdentifierOf(keyBits(own.spki));
  return { id: identifier.toString('hex'), name: own.subject, publicKey: new X509Certificate(der).publicKey };
}

/** The lists of roots in these files. Throws `IssuerError` for one that cannot be read, is by none of the roots, or is the second of one. */
export function readRootLists(
  files: readonly { readonly name: string; readonly bytes: Buffer }[],
  rootsPem: string,
): readonly RootList[] {
  if (files.length === 0) return [];
  const roots = certificatesInPem(rootsPem).map(rootOf);
  const lists = files.map(({ name, bytes }) => {
    try {
      return readRootList(bytes, roots);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : 'it cannot be read';
      throw new IssuerError(`revocation list \`${name}\` cannot be used: ${reason}`, { cause });
    }
  });
  if (new Set(lists.map(({ id }) => id)).size < lists.length) throw new IssuerError('a root has two revocation lists');
  return lists;
}

function readRootList(bytes: Buffer, roots: readonly Root[]): RootList {
  const der = crlFromFile(bytes);
  const list = readCrl(der);
  const root = roots.find((candidate) => isCrlOf(list, candidate));
  if (root === undefined) throw new IssuerError('it is by none of the roots');
  const { number, thisUpdate, nextUpdate } = list;
  return { id: root.id, number: Number(number), thisUpdate, nextUpdate, der };
}
