import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { replaceFile } from '@signet/policy-engine/internal/files';

/* The certificate of a server decides which key is its key. A new key waits beside the one in use, under a name of its own, until a certificate
   with it is in place: so a renewal that was cut off can be ended, and those of several servers that share the files do not lose a key. */

/** The files of a server's TLS certificate, PEM. */
export interface ServerCertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Time after which the writer of a key has ended for certain. */
const dayMs = 86_400_000;

const prefixOf = (files: ServerCertificateFiles) => `${basename(files.key)}.next`;

/** `publicKey`: what belongs to the key that waits. */
function waitingKey(files: ServerCertificateFiles, publicKey: KeyObject): string {
  const hash = createHash('sha256').update(publicKey.export({ type: 'spki', format: 'der' }));
  return join(dirname(files.key), `${prefixOf(files)}-${hash.digest('hex').slice(0, 32)}`);
}

/** Writes a key to wait for its certificate. Throws the error of the file system. */
export async function writeWaitingKey(files: ServerCertificateFiles, privateKey: KeyObject): Promise<void> {
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await replaceFile(waitingKey(files, createPublicKey(privateKey)), pem, { mode: 0o600 });
}

/**
 * Activates the key that waits for the certificate in place. It stays for a day, since another server may be about to do the same with a
 * certificate that has been replaced meanwhile. `now` in milliseconds. Throws when a file cannot be read or written.
 */
export async function settleServerKey(files: ServerCertificateFiles, now: number): Promise<void> {
  for (;;) {
    const leaf = new X509Certificate(await readFile(files.certificate));
    const waiting = await textIfPresent(waitingKey(files, leaf.publicKey));
    if (waiting === undefined || waiting === (await textIfPresent(files.key))) break;
    await replaceFile(files.key, waiting, { mode: 0o600 });
  }
  await removeOld(files, now);
}

async function removeOld(files: ServerCertificateFiles, now: number): Promise<void> {
  const folder = dirname(files.key);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefixOf(files))) continue;
    const path = join(folder, name);
    // Another server may have removed it.
    const facts = await stat(path).catch(() => undefined);
    if (facts !== undefined && now - facts.mtimeMs > dayMs) await rm(path, { force: true });
  }
}

async function textIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
