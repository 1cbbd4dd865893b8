import { generateKeyPair, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { parsePrincipalName } from '@signet/policy-engine/names';
import type { CertificateStore } from '../model/certificate-store.ts';
import type { IssuedAltName } from './certificate-profile.ts';
import { altNamesOf, certificatesInPem, type ReadCertificate, readCertificate } from './certificate-reader.ts';
import { relativeName } from './distinguished-name.ts';
import { type IssueDeps, signOrder } from './issue-certificate.ts';
import type { Issuers } from './issuers.ts';
import { type NamingRules, serviceSpiffeId } from './naming.ts';
import { oids } from './oids.ts';
import { serverName } from './own-identity.ts';
import { parseSubjectKey } from './subject-key.ts';
import { type ServerCertificateFiles, settleServerKey, writeWaitingKey } from './waiting-server-key.ts';

/** Reads the first certificate of a file. Throws `DerError`, and when the file cannot be read. */
export async function readServerCertificate(file: string): Promise<ReadCertificate> {
  const [leaf = Buffer.alloc(0)] = certificatesInPem(await readFile(file, 'utf8'));
  return readCertificate(leaf);
}

/**
 * True if a certificate is due for replacement: in the last third of its life, months of a year and hours of a day, and when it has not begun,
 * since it was issued by a wrong clock. `now` in seconds.
 */
export function isDue({ notBefore, notAfter }: Pick<ReadCertificate, 'notBefore' | 'notAfter'>, now: number): boolean {
  return now < notBefore || notAfter - now < (notAfter - notBefore) / 3;
}

/** True if the first certificate of a file was signed with the key of the first one of another file. Throws when they cannot be read. */
export async function isSignedBy(file: string, issuerFile: string): Promise<boolean> {
  const [leaf, issuer] = await Promise.all([readFile(file), readFile(issuerFile)]);
  return new X509Certificate(leaf).verify(new X509Certificate(issuer).publicKey);
}

interface RenewServerCertificateDeps extends Omit<IssueDeps, 'issuers'> {
  readonly files: ServerCertificateFiles;
  readonly issuers: Pick<Issuers, 'signing' | 'current'>;
  readonly rules: NamingRules;
  readonly certificates: Pick<CertificateStore, 'intend' | 'confirm'>;
}

const lifetimeSeconds = 365 * 86_400;
const makeKeys = promisify(generateKeyPair);

/**
 * Replaces the server's certificate by one with the same names and a new key, for a year. Only one that the server's own issuers signed. Throws
 * `Error` for another one, and what issuing and writing throw; the files are then unchanged.
 */
export async function renewServerCertificate(deps: RenewServerCertificateDeps): Promise<void> {
  const { files, certificates } = deps;
  const old = await readServerCertificate(files.certificate);
  await requireOwn(deps);
  const { publicKey, privateKey } = await makeKeys('ec', { namedCurve: 'P-256' });
  const commonName = commonNameOf(old);
  const signed = await signOrder(deps, {
    kind: 'service',
    names: { commonName, subject: [relativeName(oids.commonName, commonName)], altNames: namesOf(old, deps.rules) },
    subjectKey: parseSubjectKey(publicKey.export({ type: 'spki', format: 'der' })),
    usage: 'both',
    defaultSeconds: lifetimeSeconds,
    maxSeconds: [],
    holder: parsePrincipalName(commonName),
  });
  await certificates.confirm(signed.serial, signed.fingerprint);
  // The certificate decides: a server killed between these steps finds its key with `settleServerKey`.
  await writeWaitingKey(files, privateKey);
  await replaceFile(files.certificate, `${signed.pem}${signed.chainPem}`, { mode: 0o644 });
  await settleServerKey(files, deps.clock.now());
}

async function requireOwn({ files, issuers }: RenewServerCertificateDeps): Promise<void> {
  const leaf = new X509Certificate(await readFile(files.certificate));
  const { active, draining } = issuers.current();
  const isOurs = [...active, ...draining].some(({ chainPem }) => leaf.verify(new X509Certificate(chainPem).publicKey));
  if (!isOurs) throw new Error('the server certificate is by none of the configured issuers');
}

function commonNameOf({ subjectNames }: ReadCertificate): string {
  const [name, ...more] = subjectNames.filter(({ attribute }) => attribute === 'commonName');
  if (name === undefined || more.length > 0) throw new Error('the server certificate has not exactly one common name');
  return name.value;
}

/** The names of before, and the id by which clients know the server, which certificates of others may lack. */
function namesOf(certificate: ReadCertificate, rules: NamingRules): readonly IssuedAltName[] {
  const { domain, service } = serverName;
  const id: IssuedAltName = { kind: 'uri', value: serviceSpiffeId(rules, domain, service) };
  return [id, ...issuable(certificate).filter(({ kind }) => kind !== 'uri')];
}

function issuable(certificate: ReadCertificate): readonly IssuedAltName[] {
  return altNamesOf(certificate).map((name) => {
    if (name.kind === 'other') throw new Error('the server certificate has a name of a kind that is not issued');
    return name;
  });
}
