import { mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type LockWait, lockFile, replaceFile, syncDirectory } from '@signet/policy-engine/internal/files';
import { SignetClientError } from '../client-errors.ts';

/** The texts of an identity, PEM. */
export interface IdentityTexts {
  /** The certificate, followed by those of its issuers. */
  readonly certificate: string;
  readonly key: string;
  /** The roots and issuers that the server told of; what to trust is configured apart from it. */
  readonly issuers: string;
  /** The SSH host certificate beside it, a line as OpenSSH has them; absent when none was asked for or given. */
  readonly sshHostCertificate?: string | undefined;
}

/** The files of an identity as other programs open them. */
export interface IdentityPaths {
  readonly certificate: string;
  readonly key: string;
  readonly issuers: string;
  /** File for `HostCertificate` of sshd; there only if the identity has one. */
  readonly sshHostCertificate: string;
}

const names = {
  certificate: 'cert.pem',
  key: 'key.pem',
  issuers: 'issuers.pem',
  sshHostCertificate: 'ssh-host-cert.pub',
} as const;
const modes = { certificate: 0o644, key: 0o600, issuers: 0o644, sshHostCertificate: 0o644 } as const;
const parts = ['certificate', 'key', 'issuers', 'sshHostCertificate'] as const;
const current = '.current';
const versionPrefix = '.identity-';
const temporaryEnd = '.new';
const lockName = '.lock';
const writeWaitMs = 30_000;
/** Upper bound of an identity's size on disk: its three files, folder and links. */
const roomBytes = 65_536;

/** Paths of the files of an identity in a folder. */
export function identityPaths(folder: string): IdentityPaths {
  return {
    certificate: join(folder, names.certificate),
    key: join(folder, names.key),
    issuers: join(folder, names.issuers),
    sshHostCertificate: join(folder, names.sshHostCertificate),
  };
}

/** The identity in a folder, undefined when there is none or a part of it is missing. */
export async function readIdentityFiles(folder: string): Promise<IdentityTexts | undefined> {
  const read = (part: (typeof parts)[number]) => readIfThere(join(folder, current, names[part]));
  const [certificate, key, issuers, sshHostCertificate] = await Promise.all(parts.map(read));
  if (certificate === undefined || key === undefined || issuers === undefined) return undefined;
  return { certificate, key, issuers, ...(sshHostCertificate !== undefined && { sshHostCertificate }) };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** A link that comes to be, or changes, in one step. */
async function replaceLink(target: string, path: string): Promise<void> {
  if ((await readlink(path).catch(() => undefined)) === target) return;
  const temporary = `${path}.${process.pid}${temporaryEnd}`;
  await rm(temporary, { force: true });
  await symlink(target, temporary);
  await rename(temporary, path);
}

/**
 * Locks a folder, which is created if absent, against replacement of its identity until it is disposed: of two processes that renew one
 * certificate at once, one presents what the server treats as stolen. Throws `invalid-identity` when another one has held the lock for that
 * long.
 */
export async function lockIdentityFolder(folder: string, wait: LockWait): Promise<AsyncDisposable> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const lock = await lockFile(join(folder, lockName), wait);
  if (lock !== undefined) return lock;
  throw new SignetClientError('invalid-identity', `another process is renewing the certificate in \`${folder}\``);
}

/**
 * Throws the error of the file system when a new identity would not fit: the server issues one only a few times to a caller who does not show
 * that it arrived. The caller must have locked the folder.
 */
export async function requireRoom(folder: string): Promise<void> {
  const path = join(folder, `room${temporaryEnd}`);
  try {
    await replaceFile(path, Buffer.alloc(roomBytes), { mode: 0o600 });
  } finally {
    await rm(path, { force: true });
  }
}

/**
 * Replaces the identity of a folder in one step: certificate and key are files of one version, and a link selects the version. A reader at any
 * instant, also after a killed write, finds a certificate with its own key. `version` names it, e.g. by time. Waits for another writer, and
 * throws `invalid-identity` when that takes too long.
 */
export async function writeIdentityFiles(folder: string, texts: IdentityTexts, version: string): Promise<void> {
  await using _ = await lockIdentityFolder(folder, { waitMs: writeWaitMs });
  await putIdentityFiles(folder, texts, version);
}

/** Variant of `writeIdentityFiles` for a caller who has locked the folder. */
export async function putIdentityFiles(folder: string, texts: IdentityTexts, version: string): Promise<void> {
  const own = `${versionPrefix}${version}`;
  await rm(join(folder, own), { recursive: true, force: true });
  await mkdir(join(folder, own), { mode: 0o755 });
  const given = parts.filter((part) => texts[part] !== undefined);
  for (const part of given) {
    await replaceFile(join(folder, own, names[part]), texts[part] ?? '', { mode: modes[part] });
  }
  const before = await readlink(join(folder, current)).catch(() => undefined);
  // First the links that never change: a program that is killed before the last one leaves all as it was.
  for (const part of given) await replaceLink(join(current, names[part]), join(folder, names[part]));
  await replaceLink(own, join(folder, current));
  if (texts.sshHostCertificate === undefined) await rm(join(folder, names.sshHostCertificate), { force: true });
  await syncDirectory(folder);
  // The version before stays: a program may be reading it. What a killed program left behind goes.
  for (const entry of await readdir(folder)) {
    const isOld = entry.startsWith(versionPrefix) && entry !== own && entry !== before;
    if (isOld || entry.endsWith(temporaryEnd)) await rm(join(folder, entry), { recursive: true, force: true });
  }
}
