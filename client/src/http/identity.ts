import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { pemFault } from '@signet/policy-engine/internal/files';
import { SignetClientError } from '../client-errors.ts';

/** Sources of the client's certificate chain, its key and the trusted CA certificates: file names, or PEM text. */
export interface IdentitySource {
  readonly certificate: string;
  readonly key: string;
  readonly caBundle: string;
}

/** A certificate chain and its key, which belong together. */
interface KeyPair {
  readonly certificate: string;
  readonly key: string;
  /** Base64url SHA-256 of the leaf certificate: what tokens are bound to (RFC 8705 §3.1). */
  readonly thumbprint: string;
  /** RFC 2253-like text of the leaf's subject. */
  readonly subject: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/** Key pair with the CA certificates that the server is checked against. */
export interface Identity extends KeyPair {
  readonly caBundle: string;
}

const parts = ['certificate', 'key', 'caBundle'] as const;

function isPem(value: string): boolean {
  return value.includes('-----BEGIN ');
}

type Part = (typeof parts)[number];

/** Name of a part in messages, with its file where it is one. */
function nameOf(source: IdentitySource, part: Part): string {
  return isPem(source[part]) ? part : `${part} \`${source[part]}\``;
}

/** True for a key without the lines around it, which would be taken for a file name: it must not be quoted. */
function isBareKey(text: string): boolean {
  return /^[\w+/=\s-]{40,}$/.test(text);
}

function unreadable(source: IdentitySource, part: Part, cause: unknown): SignetClientError {
  if (part === 'key' && isBareKey(source.key)) {
    // no cause: the error of the system quotes the name
    return new SignetClientError('invalid-identity', 'key is neither a file that can be read nor PEM text');
  }
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read${code === '' ? '' : ` (${code})`}`;
  return new SignetClientError('invalid-identity', `${nameOf(source, part)} ${reason}`, { cause });
}

/** Text of a part whose form is right. Throws `invalid-identity`. */
function textOf(source: IdentitySource, part: Part, bytes: Buffer): string {
  const fault = pemFault(bytes, part === 'key' ? 'key' : 'certificate');
  if (fault !== undefined) throw new SignetClientError('invalid-identity', `${nameOf(source, part)} ${fault}`);
  return bytes.toString('utf8');
}

function parseAuthorities(caBundle: string): string {
  try {
    new X509Certificate(caBundle);
  } catch (cause) {
    throw new SignetClientError('invalid-identity', 'caBundle holds a certificate that cannot be read', { cause });
  }
  return caBundle;
}

/** Checks that the two texts are what they should be and that the key is the certificate's. */
function parseKeyPair(certificate: string, key: string): KeyPair {
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(certificate);
  } catch (cause) {
    throw new SignetClientError('invalid-identity', 'certificate cannot be read', { cause });
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    // no cause: the parser's error could quote the key
    throw new SignetClientError('invalid-identity', 'key cannot be read');
  }
  if (!leaf.checkPrivateKey(privateKey)) throw otherKey(certificate, privateKey);
  const thumbprint = Buffer.from(leaf.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
  return { certificate, key, thumbprint, subject: leaf.subject, notAfter: leaf.validToDate.getTime() };
}

/** The error for a key that is not that of the first certificate: a chain in the wrong order is the usual cause. */
function otherKey(chain: string, key: KeyObject): SignetClientError {
  const blocks = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const isReversed = blocks.slice(1, 10).some((block) => {
    try {
      return new X509Certificate(block).checkPrivateKey(key);
    } catch {
      return false;
    }
  });
  const reason = isReversed
    ? 'certificate holds its chain in the wrong order: the certificate of the key must come first, then its issuers'
    : 'key is not the key of the certificate';
  return new SignetClientError('invalid-identity', reason);
}

/**
 * The error for a certificate that has expired at `now` (milliseconds since the epoch): a server would only refuse it. Whether it is valid
 * already is left to the server, whose clock is more often right than that of a machine that has just started.
 */
export function expiryProblem({ subject, notAfter }: KeyPair, now: number): SignetClientError | undefined {
  if (now <= notAfter) return undefined;
  const ended = formatTimestamp(notAfter);
  return new SignetClientError(
    'invalid-identity',
    `the client certificate of \`${subject.replaceAll('\n', ', ')}\` expired at ${ended}: renew it, with \`signet identity once\` for an instance, \`signet identity issue\` or \`signet login\` for a person`,
  );
}

/** Reads and checks an identity. Throws `invalid-identity`. */
export function readIdentitySync(source: IdentitySource): Identity {
  const [certificate = '', key = '', caBundle = ''] = parts.map((part) => {
    if (isPem(source[part])) return textOf(source, part, Buffer.from(source[part]));
    let bytes: Buffer;
    try {
      bytes = readFileSync(source[part]);
    } catch (cause) {
      throw unreadable(source, part, cause);
    }
    return textOf(source, part, bytes);
  });
  return { ...parseKeyPair(certificate, key), caBundle: parseAuthorities(caBundle) };
}

/**
 * Checks, before anything is sent, that the files can be read, that the key is the certificate's and that the certificate has not
 * expired at `now` (milliseconds since the epoch). Throws `invalid-identity` with the reason.
 */
export function checkIdentity(source: IdentitySource, now: number): void {
  const problem = expiryProblem(readIdentitySync(source), now);
  if (problem !== undefined) throw problem;
}

async function readPart(source: IdentitySource, part: Part): Promise<string> {
  if (isPem(source[part])) return textOf(source, part, Buffer.from(source[part]));
  let bytes: Buffer;
  try {
    bytes = await readFile(source[part]);
  } catch (cause) {
    throw unreadable(source, part, cause);
  }
  return textOf(source, part, bytes);
}

/** Reads and checks the certificate and its key. Throws `invalid-identity`. */
export async function readKeyPair(source: IdentitySource): Promise<KeyPair> {
  const [certificate, key] = await Promise.all([readPart(source, 'certificate'), readPart(source, 'key')]);
  return parseKeyPair(certificate, key);
}

/** Reads and checks the CA certificates. Throws `invalid-identity`. */
export async function readAuthorities(source: IdentitySource): Promise<string> {
  return parseAuthorities(await readPart(source, 'caBundle'));
}

/** Text that differs when one of the files was written, replaced or removed; constant for PEM text. */
export async function identityStamp(source: IdentitySource): Promise<string> {
  const stamps = await Promise.all(
    parts.map(async (part) => {
      if (isPem(source[part])) return '';
      try {
        const { dev, ino, size, mtimeNs, ctimeNs } = await stat(source[part], { bigint: true });
        return [dev, ino, size, mtimeNs, ctimeNs].join(':');
      } catch {
        return 'missing';
      }
    }),
  );
  return stamps.join(' ');
}
