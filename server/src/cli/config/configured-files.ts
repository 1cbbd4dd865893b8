import type { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { secureServerOptions } from '@signet/policy-engine/http';
import type { ServerConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { sealingOf } from '../../config/private-keys.ts';
import { parseHost } from '../../config/store-place.ts';
import { parseKeySet } from '../../instances/attestation/jwt-keys.ts';
import { parseSshAuthority, type SshAuthority, SshAuthorityError } from '../../ssh/ssh-authority.ts';
import { issuerFromPem } from '../../x509/issuer-files.ts';
import { readRootLists } from '../../x509/root-lists.ts';
import {
  ContentError,
  certificatesOf,
  type FileProblem,
  FileReader,
  type NamedFile,
  privateKeyOf,
} from './file-reader.ts';

/** Certificates of one file, in their order. */
export interface CertificateFile extends NamedFile {
  readonly certificates: readonly X509Certificate[];
}

/** Contents of a configuration's files, as far as they can be used. */
export interface ConfiguredFiles {
  readonly problems: readonly FileProblem[];
  /** Files that must not be readable by other users. */
  readonly secrets: readonly NamedFile[];
  /** The server's own, followed by those up to the root. */
  readonly server?: CertificateFile | undefined;
  readonly clientCa?: CertificateFile | undefined;
  readonly roots?: CertificateFile | undefined;
  readonly issuers: readonly CertificateFile[];
  /** Revocation lists of roots, with their end in seconds since the epoch. */
  readonly lists: readonly (NamedFile & { readonly nextUpdate: number })[];
}

/** Opens every file that a server of this configuration opens at its start, and keeps none. */
export function openConfiguredFiles(config: ServerConfig): ConfiguredFiles {
  const reader = new FileReader();
  const { tls, certificates } = config;
  const server = openServerIdentity(reader, config);
  const clientCa = openCertificates(reader, { option: 'tls.clientCa', file: tls.clientCa });
  // The roots and their lists are used only with an issuer.
  const hasIssuers = certificates.issuers.length > 0;
  const isApart = hasIssuers && certificates.roots !== tls.clientCa;
  const ownRoots = { option: 'certificates.roots', file: certificates.roots };
  const roots = isApart ? openCertificates(reader, ownRoots) : clientCa;
  const issuers = openIssuers(reader, config);
  const lists = hasIssuers && roots !== undefined ? openRootLists(reader, config, roots) : [];
  openKeySets(reader, config);
  openLoginAuthorities(reader, config);
  openSshKeys(reader, config);
  openSealingKeys(reader, config);
  openDatabaseFiles(reader, config);
  return { problems: reader.problems, secrets: secretsOf(config), server, clientCa, roots, issuers, lists };
}

/** Throws `ConfigError` with each file that cannot be used, and the option that names it. */
export function requireUsableFiles(config: ServerConfig): void {
  const { problems } = openConfiguredFiles(config);
  if (problems.length === 0) return;
  throw new ConfigError(
    config.file,
    problems.map(({ option, file, problem }) => `${option}: \`${file}\` ${problem}`),
  );
}

function openCertificates(reader: FileReader, named: NamedFile): CertificateFile | undefined {
  const certificates = reader.read(named, certificatesOf);
  return certificates && { ...named, certificates };
}

function openServerIdentity(reader: FileReader, { tls }: ServerConfig): CertificateFile | undefined {
  const [certificate, key] = [
    { option: 'tls.certificate', file: tls.certificate },
    { option: 'tls.key', file: tls.key },
  ];
  const own = openPair(reader, certificate, key);
  // Errors of the certificate itself have been reported.
  if (own === undefined) return openCertificates(new FileReader(), certificate);
  try {
    createSecureContext({ ...secureServerOptions, cert: own.pem, key: own.keyPem });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    reader.complain(certificate, `cannot be used for TLS${code}`);
  }
  return { ...certificate, certificates: own.certificates };
}

interface Pair {
  readonly certificates: readonly X509Certificate[];
  readonly pem: string;
  readonly keyPem: string;
}

/** A certificate and the key that belongs to it. */
function openPair(reader: FileReader, certificate: NamedFile, key: NamedFile): Pair | undefined {
  const own = reader.read(certificate, (bytes) => ({ certificates: certificatesOf(bytes), pem: bytes.toString() }));
  const secret = reader.read(key, (bytes) => ({ privateKey: privateKeyOf(bytes), keyPem: bytes.toString() }));
  if (own === undefined || secret === undefined) return undefined;
  if (own.certificates[0].checkPrivateKey(secret.privateKey)) return { ...own, keyPem: secret.keyPem };
  reader.complain(key, `is not the private key of \`${certificate.option}\``);
  return undefined;
}

function openIssuers(reader: FileReader, { certificates }: ServerConfig): CertificateFile[] {
  return certificates.issuers.flatMap((issuer, index) => {
    const named = { option: `certificates.issuers.${index}.certificate`, file: issuer.certificate };
    const pair = openPair(reader, named, { option: `certificates.issuers.${index}.key`, file: issuer.key });
    if (pair === undefined) return [];
    try {
      issuerFromPem(pair.pem, pair.keyPem);
    } catch (error) {
      reader.complain(named, `cannot be used: ${error instanceof Error ? error.message : 'it is not an authority'}`);
      return [];
    }
    return [{ ...named, certificates: pair.certificates }];
  });
}

function openRootLists(reader: FileReader, { crl }: ServerConfig, roots: CertificateFile): ConfiguredFiles['lists'] {
  const rootsPem = roots.certificates.map((root) => root.toString()).join('');
  const known = new Set<string>();
  return crl.roots.flatMap((file, index) => {
    const named = { option: `crl.roots.${index}`, file };
    const list = reader.read(named, (bytes) => {
      try {
        return readRootLists([{ name: file, bytes }], rootsPem)[0];
      } catch {
        throw new ContentError(`is not a revocation list of one of the roots in \`${roots.option}\``);
      }
    });
    if (list === undefined) return [];
    if (known.has(list.id)) reader.complain(named, 'is the second list of its root');
    known.add(list.id);
    return [{ ...named, nextUpdate: list.nextUpdate }];
  });
}

function openKeySets(reader: FileReader, { instances, people }: ServerConfig): void {
  const all = { 'instances.jwtIssuers': instances.jwtIssuers, 'people.issuers': people.issuers };
  for (const [list, issuers] of Object.entries(all)) {
    for (const [index, { keysFile }] of issuers.entries()) {
      if (keysFile !== undefined) openKeySet(reader, { option: `${list}.${index}.keysFile`, file: keysFile });
    }
  }
}

function openKeySet(reader: FileReader, named: NamedFile): void {
  reader.read(named, (bytes) => {
    try {
      return parseKeySet(bytes.toString());
    } catch {
      throw new ContentError('is not a JWK set with keys');
    }
  });
}

/** Opens the authorities to which the certificates of login issuers must chain; an issuer whose keys are in a file is not contacted. */
function openLoginAuthorities(reader: FileReader, { people }: ServerConfig): void {
  for (const [index, { ca, keysFile }] of people.issuers.entries()) {
    if (ca === undefined || keysFile !== undefined) continue;
    openCertificates(reader, { option: `people.issuers.${index}.ca`, file: ca });
  }
}

function openSshKeys(reader: FileReader, { ssh }: ServerConfig): void {
  const [host, user] = (['hostAuthority', 'userAuthority'] as const).map((name) => {
    const file = ssh[name];
    return file === undefined ? undefined : openSshKey(reader, { option: `ssh.${name}`, file });
  });
  if (host === undefined || host.publicKey.fingerprint !== user?.publicKey.fingerprint) return;
  const named = { option: 'ssh.userAuthority', file: ssh.userAuthority ?? '' };
  reader.complain(named, 'must be another key than `ssh.hostAuthority`');
}

function openSshKey(reader: FileReader, named: NamedFile): SshAuthority | undefined {
  return reader.read(named, (bytes) => {
    privateKeyOf(bytes);
    try {
      return parseSshAuthority(bytes.toString(), named.file);
    } catch (error) {
      if (!(error instanceof SshAuthorityError)) throw error;
      throw new ContentError('must be an Ed25519 or a P-256 key');
    }
  });
}

/** Their reader looks at owner and mode as well. */
function openSealingKeys(reader: FileReader, config: ServerConfig): void {
  const { sealingKeyFile, previousSealingKeyFiles } = config.keys;
  const named = [
    ...(sealingKeyFile === undefined ? [] : [{ option: 'keys.sealingKeyFile', file: sealingKeyFile }]),
    ...previousSealingKeyFiles.map((file, index) => ({ option: `keys.previousSealingKeyFiles.${index}`, file })),
  ];
  const before = reader.problems.length;
  for (const each of named) reader.read(each, () => undefined);
  if (reader.problems.length > before) return;
  try {
    sealingOf(config);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const each of named) {
      const start = `${each.option}: \`${each.file}\` `;
      const text = error.problems.find((problem) => problem.startsWith(start));
      if (text !== undefined) reader.complain(each, text.slice(start.length));
    }
  }
}

/** Opens the database files; those of TLS are skipped for a database on this machine that needs none. */
function openDatabaseFiles(reader: FileReader, { store }: ServerConfig): void {
  if (store.kind !== 'postgres') return;
  const { passwordFile, certificate, key, ca } = store;
  const option = (name: string) => `store.postgres.${name}`;
  if (passwordFile !== undefined) reader.read({ option: option('passwordFile'), file: passwordFile }, () => undefined);
  const usesTls = store.hosts.some((name) => {
    const host = parseHost(name);
    return host?.host.startsWith('/') !== true && (ca !== undefined || host?.isLocal !== true);
  });
  if (!usesTls) return;
  if (ca !== undefined) openCertificates(reader, { option: option('ca'), file: ca });
  if (certificate === undefined || key === undefined) return;
  openPair(reader, { option: option('certificate'), file: certificate }, { option: option('key'), file: key });
}

/** Private keys and passwords; of sealing keys their own reader looks after. */
function secretsOf({ tls, certificates, ssh, store }: ServerConfig): NamedFile[] {
  const named = (option: string, file: string | undefined) => (file === undefined ? [] : [{ option, file }]);
  return [
    ...named('tls.key', tls.key),
    ...certificates.issuers.flatMap(({ key }, index) => named(`certificates.issuers.${index}.key`, key)),
    ...named('ssh.hostAuthority', ssh.hostAuthority),
    ...named('ssh.userAuthority', ssh.userAuthority),
    ...(store.kind === 'postgres'
      ? [...named('store.postgres.passwordFile', store.passwordFile), ...named('store.postgres.key', store.key)]
      : []),
  ];
}
