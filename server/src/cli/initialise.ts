import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { type PrincipalName, parseDomainName, parseServiceName, splitPrincipal } from '@signet/policy-engine/names';
import { stringify } from 'yaml';
import { addressOctets } from '../ip-address.ts';
import { keysInFiles, keysInStore } from '../keys/private-keys.ts';
import { ensureSigningKeys } from '../keys/rotate-keys.ts';
import { createSealing } from '../keys/sealing.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import { createSshAuthorityKey, knownHostsLine, parseSshAuthority, trustedUserCaLine } from '../ssh/ssh-authority.ts';
import { ensureSealKey, sealKeyName } from '../store/maintenance.ts';
import { openStore } from '../store/open.ts';
import {
  type Authority,
  type CertificateAndKey,
  createAuthorities,
  firstRevocationList,
  issueIdentity,
  issueServerCertificate,
} from '../x509/certificate-authority.ts';
import { type ConstrainedNames, networkConstraint } from '../x509/name-constraints.ts';
import { isDnsName } from '../x509/naming.ts';
import { schemaHeader, writeSchemas } from './config/schema-files.ts';
import { UsageError } from './run.ts';

interface InitialiseOptions {
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  /** Further names and addresses of the server certificate. */
  readonly hosts: readonly string[];
  readonly trustDomain: string;
  /** DNS names and networks that the intermediate may certify beside those of the trust domain and of the server; absent: all names. */
  readonly nameConstraints?: readonly string[] | undefined;
  /** Addresses of revocation lists in certificates, with `{issuer}`. */
  readonly distributionPoints?: readonly string[] | undefined;
  /** Names of hosts that users of SSH know by the authority, beside those of the trust domain. */
  readonly sshHosts?: readonly string[] | undefined;
  /** Whether signing keys are sealed in the store, with a key in a file of its own. */
  readonly sealedKeys?: boolean | undefined;
  /** Services to make client certificates for, below `identities/`. */
  readonly identities: readonly PrincipalName[];
}

const rootList = 'root.crl.pem';
const sealingKeyName = 'sealing.key';

/** Days that the certificates made here live. */
const leafDays = 365;

/**
 * Makes what a token server needs, in one folder that only its owner can read: root and intermediate authority, SSH authorities,
 * server certificate, store, signing keys, `signet.yaml`, and client certificates. Throws `UsageError` when one of the files exists.
 */
export async function initialise(options: InitialiseOptions, clock: Clock): Promise<{ config: string }> {
  const folder = resolve(options.folder);
  const at = (...parts: string[]) => join(folder, ...parts);
  refuseToOverwrite(folder);
  for (const path of [folder, at('ca'), at('data'), at('identities')])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const hosts = [...new Set(['localhost', '127.0.0.1', '::1', ...wildcardFree(options.host), ...options.hosts])];
  const { trustDomain, distributionPoints } = options;
  const names = permittedNames(options, hosts);
  const { root, intermediate } = await createAuthorities(clock, { trustDomain, distributionPoints, names });
  await writePair(at('ca', 'root'), root);
  await replaceFile(at('ca', rootList), await firstRevocationList(root, clock), { mode: 0o644 });
  await writePair(at('ca', 'intermediate'), intermediate);
  await replaceFile(at('ca', 'bundle.pem'), root.certificate, { mode: 0o644 });
  await makeSshAuthorities(at('ca'), options);
  const server = {
    domain: parseDomainName('sys.auth'),
    service: parseServiceName('server'),
    trustDomain,
    distributionPoints,
    hosts,
  };
  await writePair(at('server'), await issueServerCertificate(intermediate, server, leafDays, clock));
  for (const name of options.identities) {
    await writePair(at('identities', name), await makeIdentity(name, intermediate, options, clock));
  }
  await makeStore(folder, options, clock);
  await writeSchemas(folder);
  // Last: a folder without it is not complete.
  const config = at('signet.yaml');
  await replaceFile(config, configText(options), { mode: 0o600 });
  return { config };
}

function refuseToOverwrite(folder: string): void {
  for (const name of ['signet.yaml', 'ca', 'data', 'schemas', 'server.cert.pem', 'server.key.pem', sealingKeyName]) {
    const path = join(folder, name);
    const isEmptyFolder = (name === 'ca' || name === 'data') && existsSync(path) && readdirSync(path).length === 0;
    if (existsSync(path) && !isEmptyFolder) throw new UsageError(`\`${path}\` exists: nothing is overwritten`);
  }
}

/** A server that listens on all addresses is not reached by that address. */
function wildcardFree(host: string): string[] {
  return host === '0.0.0.0' || host === '::' ? [] : [host];
}

/** What an intermediate with name constraints may certify; undefined for one without. Throws `UsageError`. */
function permittedNames(
  { trustDomain, nameConstraints }: InitialiseOptions,
  hosts: readonly string[],
): ConstrainedNames | undefined {
  if (nameConstraints === undefined) return undefined;
  const all = [...hosts, ...nameConstraints].map((name) => ({ name, network: networkOf(name) }));
  const dns = all.flatMap(({ name, network }) => (network === undefined ? [name.toLowerCase()] : []));
  const bad = dns.find((name) => name !== 'localhost' && !isDnsName(name));
  if (bad !== undefined) throw new UsageError(`\`${bad}\` is neither a DNS name nor a network`);
  const ip = all.flatMap(({ network }) => network ?? []);
  return { dns: [...new Set([trustDomain, ...dns])], uri: [trustDomain], email: [trustDomain], ip };
}

/** An address, or a network in CIDR form, as a constraint has it. */
function networkOf(text: string): string | undefined {
  const [address = '', prefix, ...more] = text.split('/');
  const octets = addressOctets(address);
  if (octets === undefined || more.length > 0) return undefined;
  if (prefix === undefined) return networkConstraint(octets);
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= octets.length * 4 ? networkConstraint(octets, bits) : undefined;
}

function makeIdentity(
  name: PrincipalName,
  authority: Authority,
  options: InitialiseOptions,
  clock: Clock,
): Promise<CertificateAndKey> {
  const parts = splitPrincipal(name);
  if (parts === undefined) throw new UsageError(`\`${name}\` is not a service`);
  const { trustDomain, distributionPoints } = options;
  return issueIdentity(authority, { ...parts, trustDomain, distributionPoints }, leafDays, clock);
}

async function writePair(path: string, { certificate, key }: CertificateAndKey): Promise<void> {
  await replaceFile(`${path}.key.pem`, key, { mode: 0o600 });
  await replaceFile(`${path}.cert.pem`, certificate, { mode: 0o644 });
}

/** The keys that sign SSH certificates, and what hosts and their users put into `TrustedUserCAKeys` and `known_hosts`. */
async function makeSshAuthorities(
  folder: string,
  { trustDomain, sshHosts = [] }: Pick<InitialiseOptions, 'trustDomain' | 'sshHosts'>,
): Promise<void> {
  const [host, user] = [createSshAuthorityKey(), createSshAuthorityKey()];
  await replaceFile(join(folder, 'ssh-host.key.pem'), host, { mode: 0o600 });
  await replaceFile(join(folder, 'ssh-user.key.pem'), user, { mode: 0o600 });
  const known = knownHostsLine(parseSshAuthority(host, 'ssh-host.key.pem'), [`*.${trustDomain}`, ...sshHosts]);
  const trusted = trustedUserCaLine(parseSshAuthority(user, 'ssh-user.key.pem'));
  await replaceFile(join(folder, 'ssh-known-hosts'), `${known}\n`, { mode: 0o644 });
  await replaceFile(join(folder, 'ssh-trusted-user-keys'), `${trusted}\n`, { mode: 0o644 });
}

async function makeStore(
  folder: string,
  { sealedKeys = false }: Pick<InitialiseOptions, 'sealedKeys'>,
  clock: Clock,
): Promise<void> {
  const dataDir = join(folder, 'data');
  const store = await openStore({ kind: 'sqlite', file: join(dataDir, 'signet.db') }, { clock });
  try {
    const privateKeys = sealedKeys
      ? keysInStore({ store, sealing: createSealing([await makeSealingKey(folder)]) })
      : keysInFiles(join(dataDir, 'keys'));
    await ensureSigningKeys({ store: signingKeyStore(store, 'signet init'), privateKeys, clock });
    ensureSealKey(join(dataDir, 'keys', sealKeyName));
  } finally {
    await store.close();
  }
}

async function makeSealingKey(folder: string): Promise<Buffer> {
  const sealingKey = randomBytes(32);
  await replaceFile(join(folder, sealingKeyName), `${sealingKey.toString('base64')}\n`, { mode: 0o600 });
  return sealingKey;
}

function configText({ sealedKeys = false, host, port, trustDomain, distributionPoints }: InitialiseOptions): string {
  const values = {
    profile: 'signet',
    listen: { host, port },
    // With port 0 the server picks one, and its address follows.
    ...(port !== 0 && { baseUrl: `https://localhost:${port}/v1` }),
    dataDir: 'data',
    ...(sealedKeys && { keys: { storage: 'store', sealingKeyFile: sealingKeyName } }),
    tls: { certificate: 'server.cert.pem', key: 'server.key.pem', clientCa: 'ca/bundle.pem', renew: true },
    certificates: {
      issuers: [{ certificate: 'ca/intermediate.cert.pem', key: 'ca/intermediate.key.pem' }],
      trustDomain,
    },
    crl: { roots: [`ca/${rootList}`], ...(distributionPoints !== undefined && { distributionPoints }) },
    ssh: { hostAuthority: 'ca/ssh-host.key.pem', userAuthority: 'ca/ssh-user.key.pem' },
  };
  return `${schemaHeader('config')}# Options and what is in force: signet config check --config <this file>\n${stringify(values)}`;
}
