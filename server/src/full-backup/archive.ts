import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, linkSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { syncDirectorySync } from '@signet/policy-engine/internal/files';
import { Decrypter, Encrypter } from 'age-encryption';
import { create, extract } from 'tar';
import { ConflictError } from '../errors.ts';

/* A complete backup is a compressed tar archive in a file of age (age-encryption.org/v1): without Signet, `age -d FILE | tar xz` reads it. */

/** Recipients of an encrypted archive: those who know a passphrase, or the holders of the keys of recipients (`age1…`). */
export type ArchiveLock = { readonly passphrase: string } | { readonly recipients: readonly string[] };

/** Key that opens one: the passphrase, or identities of age (`AGE-SECRET-KEY-1…`) with the digest of the file. */
export type ArchiveKey =
  | { readonly passphrase: string; readonly digest?: string | undefined }
  | { readonly identities: readonly string[]; readonly digest: string };

/** An archive that is not what it should be, or that the key does not open. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

/** Throws `ArchiveError` for a recipient that is none. */
export function checkLock(lock: ArchiveLock): void {
  encrypterFor(lock);
}

/**
 * Writes what is in `folder` into a new file (mode 0600) on the same file system, which appears whole or not at all, and answers its SHA-256 digest in hexadecimal.
 * Throws `ConflictError` when the file exists, `ArchiveError` for a recipient that is none.
 */
export async function writeArchive(target: string, folder: string, lock: ArchiveLock): Promise<string> {
  const encrypter = encrypterFor(lock);
  if (existsSync(target)) throw new ConflictError(`\`${target}\` exists already`);
  // Placed beside the folder and removed with it, whatever ends this.
  const partial = `${folder}.partial`;
  try {
    const packed = create({ cwd: folder, gzip: true, portable: true, strict: true }, ['.']);
    const encrypted = await encrypter.encrypt(webStream(Readable.from(packed)));
    const digest = createHash('sha256');
    const file = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(nodeStream(encrypted), hashing(digest), file);
    // A link refuses what a rename would overwrite.
    linkSync(partial, target);
    syncDirectorySync(dirname(target));
    return digest.digest('hex');
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Unpacks an archive into an empty folder of this user: regular files (mode 0600) and folders, nothing else. Throws `ArchiveError` when the key
 * does not open it, it was cut off or changed, or its digest is another one; what is in the folder is then not to be used.
 */
export async function readArchive(file: string, folder: string, key: ArchiveKey): Promise<void> {
  try {
    const archive = statSync(file).isFile() ? file : await copyOf(file, `${folder}.archive`);
    if (key.digest !== undefined) await requireDigest(archive, key.digest);
    const decrypter = decrypterFor(key);
    const packed = await decrypter.decrypt(webStream(createReadStream(archive)));
    await pipeline(nodeStream(packed), unpackingInto(folder, largestContent(statSync(archive).size)));
  } catch (error) {
    throw new ArchiveError(`\`${file}\` cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

/** Copy of a pipe, which can be read once; still encrypted. */
async function copyOf(pipe: string, copy: string): Promise<string> {
  await pipeline(createReadStream(pipe), createWriteStream(copy, { flags: 'wx', mode: 0o600 }));
  return copy;
}

/** Before anything is decrypted or written: the digest is all that vouches for an archive that was made for a public key. */
async function requireDigest(file: string, wanted: string): Promise<void> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(file), digest);
  const found = digest.digest('hex');
  if (found !== wanted.toLowerCase()) throw new ArchiveError(`it has another digest: \`${found}\``);
}

/** Upper bound of the bytes in an archive of this size. Pages of a store take a tenth to a thirtieth; zeros alone take a thousandth. */
function largestContent(packedBytes: number): number {
  return Math.max(leastContent, packedBytes * maxCompression);
}

const leastContent = 64 * 1024 * 1024;
const maxCompression = 100;
/** Upper bound of the files and folders; a backup has some for each key and each file that its configuration names. */
const maxEntries = 10_000;

/** Unpacks an archive. Fails for entries that no archive of this program has, links above all. */
function unpackingInto(folder: string, maxBytes: number): Writable {
  let fault: string | undefined;
  let [bytes, entries] = [0, 0];
  const filter = (path: string, entry: { readonly type?: string; readonly size?: number } | object): boolean => {
    const type = 'type' in entry ? entry.type : undefined;
    bytes += 'size' in entry ? Number(entry.size) : 0;
    entries += 1;
    if (type !== 'File' && type !== 'OldFile' && type !== 'Directory') {
      fault ??= `it holds \`${path}\`, which is neither a file nor a folder`;
    }
    if (bytes > maxBytes) fault ??= `it contains more than ${maxBytes} bytes, too many for a backup of its size`;
    if (entries > maxEntries) fault ??= `it contains more than ${maxEntries} files`;
    return fault === undefined;
  };
  const unpack = extract({ cwd: folder, strict: true, fmode: 0o600, dmode: 0o700, processUmask: 0o077, filter });
  const sink = new Writable({
    write: (chunk: Buffer, _, done) => {
      if (fault !== undefined) done(new ArchiveError(fault));
      else if (unpack.write(chunk)) done();
      else unpack.once('drain', () => done());
    },
    final: (done) => {
      unpack.once('close', () => done(fault === undefined ? undefined : new ArchiveError(fault)));
      unpack.end();
    },
  });
  unpack.on('error', (error) => sink.destroy(error instanceof Error ? error : undefined));
  return sink;
}

function encrypterFor(lock: ArchiveLock): Encrypter {
  const encrypter = new Encrypter();
  if ('passphrase' in lock) encrypter.setPassphrase(lock.passphrase);
  else for (const recipient of lock.recipients) addTo(() => encrypter.addRecipient(recipient), 'recipient');
  return encrypter;
}

function decrypterFor(key: ArchiveKey): Decrypter {
  const decrypter = new Decrypter();
  if ('passphrase' in key) decrypter.addPassphrase(key.passphrase);
  else for (const identity of key.identities) addTo(() => decrypter.addIdentity(identity), 'identity');
  return decrypter;
}

/** Adds a key without its error in the message: an identity is a secret. */
function addTo(add: () => void, what: string): void {
  try {
    add();
  } catch {
    throw new ArchiveError(`a key is not a ${what} of age`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ArchiveError) return error.message;
  const text = error instanceof Error ? error.message : String(error);
  return /no identity matched|incorrect|passphrase/i.test(text)
    ? 'the key does not open it'
    : `it was truncated or changed (${text})`;
}

function hashing(hash: Hash): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

/* The streams of Node and of the Web are the same at run time; their types are declared twice. */
type AgeStream = Parameters<Encrypter['encrypt']>[0] & object;

function webStream(stream: Readable): Extract<AgeStream, { getReader: unknown }> {
  return Readable.toWeb(stream) as never;
}

function nodeStream(stream: unknown): Readable {
  return Readable.fromWeb(stream as ReadableStream);
}
