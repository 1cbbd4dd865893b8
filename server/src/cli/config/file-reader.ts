import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { pemFault } from '@signet/policy-engine/internal/files';

/** A file that an option names. */
export interface NamedFile {
  readonly option: string;
  readonly file: string;
}

/** Problem of a file, in words that hold nothing of its content. */
export interface FileProblem extends NamedFile {
  readonly problem: string;
}

/** Parser error that is safe to report: `holds no certificate`. Other errors of parsers may quote the file, and are not shown. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
}

/** Maximum size of a file, above any that an option names. */
const maxFileBytes = 4 * 1024 * 1024;

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'part of its path is not a folder',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  ELOOP: 'its symbolic links form a loop',
};

/** Reads files and gathers what is wrong with them. */
export class FileReader {
  readonly problems: FileProblem[] = [];

  /** Result of `parse` for a file that exists and is not empty; undefined after a problem. */
  read<Value>(named: NamedFile, parse: (bytes: Buffer) => Value): Value | undefined {
    try {
      const bytes = readPlainFile(named.file);
      if (bytes.length === 0) throw new ContentError('is empty');
      return parse(bytes);
    } catch (error) {
      this.complain(named, error instanceof ContentError ? error.message : `cannot be read: ${reasonOf(error)}`);
      return undefined;
    }
  }

  complain({ option, file }: NamedFile, problem: string): void {
    this.problems.push({ option, file, problem });
  }
}

/** Neither a folder nor a pipe, which would be waited for. Links are followed: secrets are often mounted as such. */
function readPlainFile(file: string): Buffer {
  // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (stats.isDirectory()) throw new ContentError('is a folder');
    if (!stats.isFile()) throw new ContentError('is not a regular file');
    if (stats.size > maxFileBytes) throw new ContentError('is larger than 4 MiB');
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'its content is not valid';
  return reasons[code] ?? code;
}

/** The certificates of a PEM text, at least one, in their order. Throws `ContentError`. */
export function certificatesOf(bytes: Buffer): readonly [X509Certificate, ...X509Certificate[]] {
  refusePemFault(bytes, 'certificate');
  const blocks = bytes.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const [first, ...rest] = blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new ContentError('holds a certificate that cannot be read');
    }
  });
  if (first === undefined) throw new ContentError('holds no certificate in PEM form');
  return [first, ...rest];
}

/** Throws `ContentError`. */
export function privateKeyOf(bytes: Buffer): KeyObject {
  refusePemFault(bytes, 'key');
  try {
    return createPrivateKey(bytes);
  } catch {
    throw new ContentError('holds a private key that cannot be read');
  }
}

function refusePemFault(bytes: Buffer, wanted: 'certificate' | 'key'): void {
  const fault = pemFault(bytes, wanted);
  if (fault !== undefined) throw new ContentError(fault);
}
