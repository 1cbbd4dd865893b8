import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { readOwnFile } from '../../keys/own-file.ts';
import type { IssuedAltName } from '../../x509/certificate-profile.ts';
import { certificatesInPem, certificateToPem } from '../../x509/certificate-reader.ts';
import { authorityFault } from '../../x509/check-authority.ts';
import { isEncryptedKey } from '../../x509/encrypted-key.ts';
import type { Issuer } from '../../x509/issuer.ts';
import { issuerFromPem } from '../../x509/issuer-files.ts';
import { constraintFault, nameConstraintsIn } from '../../x509/name-constraints.ts';
import { UsageError } from '../usage-error.ts';
import { type At, type PlacedAuthority, writePair } from './authority.ts';

/** The files of an authority that is there already: an issuing one, and the certificate of its root. */
export interface AuthorityFiles {
  readonly root: string;
  /** Certificate, followed by those up to the root. */
  readonly issuerCert: string;
  readonly issuerKey: string;
}

/** An issuing authority whose certificate, key and chain were checked. */
export interface GivenAuthority {
  readonly issuer: Issuer;
  /** PEM. */
  readonly root: string;
  readonly key: string;
}

/**
 * Reads the authority that a new server is to issue with. The private key of the root is not asked for, and not taken. Throws `UsageError`
 * that names the option and says what does not fit.
 */
export function readAuthority(
  files: AuthorityFiles,
  distributionPoints: readonly string[] | undefined,
  clock: Clock,
): GivenAuthority {
  const root = oneRoot(textOf('--root', files.root));
  const certificates = textOf('--issuer-cert', files.issuerCert);
  const key = keyOf(files.issuerKey);
  try {
    const issuer = issuerFromPem(certificates, key, distributionPoints);
    const chain = certificatesInPem(issuer.chainPem);
    const own = new X509Certificate(chain[0] ?? root);
    if (own.checkIssued(own)) {
      throw new UsageError('it is a root: a root key must not be on a server, create an authority below it');
    }
    const fault = authorityFault(chain, root, epochSeconds(clock));
    if (fault !== undefined) throw new UsageError(fault);
    // Constraints of the root apply as well, which is not in the chain that the server sends.
    const nameConstraints = nameConstraintsIn([...chain, root]);
    return { issuer: { ...issuer, nameConstraints }, root: certificateToPem(root), key };
  } catch (error) {
    throw new UsageError(
      `--issuer-cert \`${files.issuerCert}\`: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function textOf(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new UsageError(`${option} \`${file}\` cannot be read (${code})`);
  }
}

function oneRoot(text: string): Buffer {
  if (text.includes('PRIVATE KEY-----')) {
    throw new UsageError(
      '--root contains a private key: use a file with the certificate only, no server needs the root key',
    );
  }
  const [root, ...more] = text.includes('-----BEGIN CERTIFICATE-----') ? certificatesInPem(text) : [];
  if (root === undefined || more.length > 0) throw new UsageError('--root must contain one certificate, PEM');
  return root;
}

const keyFileBytes = 65_536;

/** The key as PKCS#8, unencrypted, as the server will read it at each start. */
function keyOf(file: string): string {
  const fail = (why: string) => new UsageError(`--issuer-key: ${why}`);
  let text: string;
  try {
    text = readOwnFile(file, keyFileBytes).toString('utf8');
  } catch (error) {
    throw fail(error instanceof Error ? error.message : String(error));
  }
  if (isEncryptedKey(text)) throw fail(`\`${file}\` is encrypted, but a server cannot prompt for a passphrase`);
  try {
    return createPrivateKey(text).export({ format: 'pem', type: 'pkcs8' }).toString();
  } catch {
    throw fail(`\`${file}\` is not a private key, PEM`);
  }
}

/** Refuses names that the authority may not certify, each of them a certificate's. Throws `UsageError`. */
export function requirePermitted(
  { issuer }: Pick<GivenAuthority, 'issuer'>,
  certificates: readonly { readonly commonName: string; readonly altNames: readonly IssuedAltName[] }[],
): void {
  for (const names of certificates) {
    const fault = constraintFault(names, issuer.nameConstraints);
    if (fault === undefined) continue;
    throw new UsageError(`${fault}: choose --base-url, --host-name and --trust-domain within them`);
  }
}

/** True if the authority may certify a host. */
export function isPermitted({ issuer }: Pick<GivenAuthority, 'issuer'>, altName: IssuedAltName): boolean {
  return constraintFault({ commonName: '', altNames: [altName] }, issuer.nameConstraints) === undefined;
}

/** Writes the authority into the folder of the server. */
export async function placeAuthority({ issuer, root, key }: GivenAuthority, at: At): Promise<PlacedAuthority> {
  await writePair(at('ca', 'intermediate'), { certificate: issuer.chainPem, key });
  for (const name of ['root.cert.pem', 'bundle.pem']) await replaceFile(at('ca', name), root, { mode: 0o644 });
  return { issuer, root, rootLists: [] };
}
