import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { type PrincipalName, parseDomainName, parseServiceName, splitPrincipal } from '@signet/policy-engine/names';
import { stringify } from 'yaml';
import { keyFilesIn } from '../keys/key-files.ts';
import { ensureSigningKeys } from '../keys/rotate-keys.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import { createSshAuthorityKey, knownHostsLine, parseSshAuthority, trustedUserCaLine } from '../ssh/ssh-authority.ts';
import { ensureSealKey, sealKeyName } from '../store/maintenance.ts';
import { openStore } from '../store/open.ts';
import {
  type Authority,
  type CertificateAndKey,
  createAuthorities,
  issueIdentity,
  issueServerCertificate,
} from '../x509/certificate-authority.ts';
import { UsageError } from './run.ts';

interface InitialiseOptions {
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  /** Further names and addresses of the server certificate. */
  readonly hosts: readonly string[];
  readonly trustDomain: string;
  /** Services to make client certificates for, below `identities/`. */
  readonly identities: readonly PrincipalName[];
}

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
  const { root, intermediate } = await createAuthorities(clock);
  await writePair(at('ca', 'root'), root);
  await writePair(at('ca', 'intermediate'), intermediate);
  await replaceFile(at('ca', 'bundle.pem'), root.certificate, { mode: 0o644 });
  await makeSshAuthorities(at('ca'), options.trustDomain);
  const hosts = [...new Set(['localhost', '127.0.0.1', '::1', ...wildcardFree(options.host), ...options.hosts])];
  const server = {
    domain: parseDomainName('sys.auth'),
    service: parseServiceName('server'),
    trustDomain: options.trustDomain,
    hosts,
  };
  await writePair(at('server'), await issueServerCertificate(intermediate, server, leafDays, clock));
  for (const name of options.identities) {
    await writePair(at('identities', name), await makeIdentity(name, intermediate, options, clock));
  }
  await makeStore(at('data'), clock);
  // Last: a folder without it is not complete.
  const config = at('signet.yaml');
  await replaceFile(config, configText(options), { mode: 0o600 });
  return { config };
}

function refuseToOverwrite(folder: string): void {
  for (const name of ['signet.yaml', 'ca', 'data', 'server.cert.pem', 'server.key.pem']) {
    const path = join(folder, name);
    const isEmptyFolder = (name === 'ca' || name === 'data') && existsSync(path) && readdirSync(path).length === 0;
    if (existsSync(path) && !isEmptyFolder) throw new UsageError(`\`${path}\` exists: nothing is overwritten`);
  }
}

/** A server that listens on all addresses is not reached by that address. */
function wildcardFree(host: string): string[] {
  return host === '0.0.0.0' || host === '::' ? [] : [host];
}

function makeIdentity(
  name: PrincipalName,
  authority: Authority,
  options: InitialiseOptions,
  clock: Clock,
): Promise<CertificateAndKey> {
  const parts = splitPrincipal(name);
  if (parts === undefined) throw new UsageError(`\`${name}\` is not a service`);
  return issueIdentity(authority, { ...parts, trustDomain: options.trustDomain }, leafDays, clock);
}

async function writePair(path: string, { certificate, key }: CertificateAndKey): Promise<void> {
  await replaceFile(`${path}.key.pem`, key, { mode: 0o600 });
  await replaceFile(`${path}.cert.pem`, certificate, { mode: 0o644 });
}

/** The keys that sign SSH certificates, and what hosts and their users put into `TrustedUserCAKeys` and `known_hosts`. */
async function makeSshAuthorities(folder: string, trustDomain: string): Promise<void> {
  const [host, user] = [createSshAuthorityKey(), createSshAuthorityKey()];
  await replaceFile(join(folder, 'ssh-host.key.pem'), host, { mode: 0o600 });
  await replaceFile(join(folder, 'ssh-user.key.pem'), user, { mode: 0o600 });
  const known = knownHostsLine(parseSshAuthority(host, 'ssh-host.key.pem'), [`*.${trustDomain}`]);
  const trusted = trustedUserCaLine(parseSshAuthority(user, 'ssh-user.key.pem'));
  await replaceFile(join(folder, 'ssh-known-hosts'), `${known}\n`, { mode: 0o644 });
  await replaceFile(join(folder, 'ssh-trusted-user-keys'), `${trusted}\n`, { mode: 0o644 });
}

async function makeStore(dataDir: string, clock: Clock): Promise<void> {
  const store = await openStore({ storeFile: join(dataDir, 'signet.db') }, { clock });
  try {
    const files = keyFilesIn(join(dataDir, 'keys'));
    await ensureSigningKeys({ store: signingKeyStore(store, 'signet init'), files, clock });
    ensureSealKey(join(dataDir, 'keys', sealKeyName));
  } finally {
    await store.close();
  }
}

function configText({ host, port, trustDomain }: InitialiseOptions): string {
  const values = {
    profile: 'signet',
    listen: { host, port },
    // With port 0 the server picks one, and its address follows.
    ...(port !== 0 && { baseUrl: `https://localhost:${port}/v1` }),
    dataDir: 'data',
    tls: { certificate: 'server.cert.pem', key: 'server.key.pem', clientCa: 'ca/bundle.pem', renew: true },
    certificates: {
      issuers: [{ certificate: 'ca/intermediate.cert.pem', key: 'ca/intermediate.key.pem' }],
      trustDomain,
    },
    ssh: { hostAuthority: 'ca/ssh-host.key.pem', userAuthority: 'ca/ssh-user.key.pem' },
  };
  return `# Options and what is in force: signet config check --config <this file>\n${stringify(values)}`;
}
