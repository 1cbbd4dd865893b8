import { randomBytes, X509Certificate } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import type { PrincipalName } from '@signet/policy-engine/names';
import { hostOf } from '../config/config.ts';
import type { PostgresSettings, StorePlace } from '../config/store-place.ts';
import { ConflictError } from '../errors.ts';
import { keysInFiles, keysInStore } from '../keys/private-keys.ts';
import { ensureSigningKeys } from '../keys/rotate-keys.ts';
import { createSealing } from '../keys/sealing.ts';
import { signingKeyStore } from '../keys/signing-key-store.ts';
import type { Store } from '../model/store.ts';
import type { ProfileRules } from '../profile.ts';
import { createSshAuthorityKey, knownHostsLine, parseSshAuthority, trustedUserCaLine } from '../ssh/ssh-authority.ts';
import { ensureSealKey, sealKeyName } from '../store/maintenance.ts';
import { openStore } from '../store/open.ts';
import { serverPrincipal } from '../x509/own-identity.ts';
import { writeSchemas } from './config/schema-files.ts';
import { makeAdministrator } from './init/administrator.ts';
import {
  type AuthorityOptions,
  makeAuthority,
  type PlacedAuthority,
  permittedNames,
  writePair,
} from './init/authority.ts';
import { baseUrlOf } from './init/base-url.ts';
import { clientText, configText } from './init/config-text.ts';
import { type GivenAuthority, isPermitted, placeAuthority, requirePermitted } from './init/given-authority.ts';
import { firstNames, hostName, issueFirst } from './init/issue.ts';
import { type At, fillNewFolder, sealingKeyName } from './init/new-folder.ts';
import { warn } from './run.ts';

export interface InitialiseOptions extends AuthorityOptions {
  readonly folder: string;
  /** Default `signet`. */
  readonly profile?: ProfileRules['name'] | undefined;
  /** True to open keys and metadata to callers without a certificate; else the profile decides. */
  readonly anonymousKeys?: boolean | undefined;
  readonly host: string;
  readonly port: number;
  /** Address that clients use; absent: derived from the names and the port. */
  readonly baseUrl?: string | undefined;
  /** Further names and addresses of the server certificate. */
  readonly hosts: readonly string[];
  /** Names of hosts that users of SSH know by the authority, beside those of the trust domain. */
  readonly sshHosts?: readonly string[] | undefined;
  /** The database that the store is in, which must be empty; absent: a file of SQLite in the folder. */
  readonly postgres?: PostgresSettings | undefined;
  /** True to seal signing keys in the store, with a key in a file of its own. In a database they always are: several servers share it. */
  readonly sealedKeys?: boolean | undefined;
  /** An authority that is there already; absent: a new one is made. */
  readonly authority?: GivenAuthority | undefined;
  /** Services to make client certificates for, below `identities/`. */
  readonly identities: readonly PrincipalName[];
  /** Administrator of the server, by `policies/sys.auth.yaml`; absent: none, the store stays empty. */
  readonly administrator?: PrincipalName | undefined;
  /** Actor of the audit records. */
  readonly actor: string;
}

/** Result of the initialisation. Paths are absolute. */
export interface Initialised {
  readonly config: string;
  /** Address that clients use; null where it follows from the port that the server will find. */
  readonly baseUrl: string | null;
  readonly trustDomain: string;
  readonly caBundle: string;
  /** SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` prints it; the file of its key when that was made here. */
  readonly root: { readonly fingerprint: string; readonly key?: string; readonly isEncrypted?: boolean };
  readonly administrator?: {
    readonly name: string;
    readonly certificate: string;
    readonly key: string;
    readonly notAfter: string;
    /** A configuration for the commands of `signet`. */
    readonly client?: string;
    readonly policy: string;
  };
}

/**
 * Makes what a token server needs, in one folder that only its owner can read: root and intermediate authority, SSH authorities,
 * server certificate, store, signing keys, `signet.yaml`, the first administrator, and client certificates. What fails leaves the folder as it was.
 * Throws `UsageError` when one of the files exists, or the options cannot be meant, `ConflictError` while another command does the same.
 */
export async function initialise(options: InitialiseOptions, clock: Clock): Promise<Initialised> {
  const plan = planOf(options, clock);
  const names = permittedNames(options, plan.hosts);
  return await fillNewFolder(resolve(options.folder), async (at) => {
    const { authority: given } = options;
    const placed = { at, clock };
    const authority = await (given ? placeAuthority(given, at) : makeAuthority(options, names, placed));
    return await fillFolder(at, authority, plan);
  });
}

/**
 * Plan that follows from the options. Of the names of this machine an authority with constraints gives those that it may. Throws `UsageError`.
 */
function planOf(options: InitialiseOptions, clock: Clock): Plan {
  const { authority, administrator, trustDomain } = options;
  const baseUrl = baseUrlOf({ ...options, hostNames: options.hosts });
  const asked = [...(baseUrl === undefined ? [] : [hostOf(baseUrl)]), ...options.hosts];
  const usual = ['localhost', '127.0.0.1', '::1', ...wildcardFree(options.host)];
  const own = usual.filter((host) => authority === undefined || isPermitted(authority, hostName(host)));
  const hosts = [...new Set([...own, ...asked])];
  const others = [...options.identities, ...(administrator === undefined ? [] : [administrator])];
  const certificates = [
    {
      commonName: serverPrincipal,
      altNames: firstNames({ name: serverPrincipal, hosts }, trustDomain, true),
    },
    ...others.map((name) => ({ commonName: name, altNames: firstNames({ name, hosts: [] }, trustDomain, true) })),
  ];
  if (authority !== undefined) requirePermitted(authority, certificates);
  const sealedKeys = options.sealedKeys === true || options.postgres !== undefined;
  return { options: { ...options, sealedKeys }, baseUrl, hosts, clock };
}

/** Files and settings to be created. */
interface Plan {
  readonly options: InitialiseOptions;
  readonly baseUrl: string | undefined;
  /** The names and addresses of the server certificate. */
  readonly hosts: readonly string[];
  readonly clock: Clock;
}

async function fillFolder(at: At, authority: PlacedAuthority, plan: Plan): Promise<Initialised> {
  const { options, baseUrl } = plan;
  const { trustDomain, sealedKeys = false } = options;
  await makeSshAuthorities(at('ca'), options);
  const administrator = await fillStore(at, authority, plan);
  await writeSchemas(at());
  const config = at('signet.yaml');
  const { rootLists, rootKey } = authority;
  // Last: a folder without it is not complete.
  await replaceFile(config, configText({ ...options, baseUrl, rootLists, sealedKeys }), { mode: 0o600 });
  return {
    config,
    baseUrl: baseUrl ?? null,
    trustDomain,
    caBundle: at('ca', 'bundle.pem'),
    root: {
      fingerprint: new X509Certificate(authority.root).fingerprint256,
      ...(rootKey !== undefined && { key: rootKey, isEncrypted: options.rootPassphrase !== undefined }),
    },
    ...(administrator !== undefined && { administrator }),
  };
}

/** A server that listens on all addresses is not reached by that address. */
function wildcardFree(host: string): string[] {
  return host === '0.0.0.0' || host === '::' ? [] : [host];
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

/** The store with its signing keys and its first administrator, and the certificates that it knows. */
async function fillStore(at: At, { issuer }: PlacedAuthority, plan: Plan): Promise<Initialised['administrator']> {
  const { options, hosts, clock } = plan;
  const { trustDomain, administrator } = options;
  const store = await openEmptyStore(at, plan);
  try {
    await makeSigningKeys(store, at, plan);
    const policy =
      administrator &&
      (await makeAdministrator(
        store,
        { folder: at('policies'), administrator },
        { actor: options.actor },
        clock.now(),
      ));
    const deps = { issuer, certificates: store.certificates, trustDomain, clock };
    await writePair(at('server'), await issueFirst(deps, { name: serverPrincipal, usage: 'both', hosts }));
    for (const name of options.identities) {
      if (name === administrator) continue;
      await writePair(at('identities', name), await issueFirst(deps, { name, usage: 'both', hosts: [] }));
    }
    if (administrator === undefined || policy === undefined) return undefined;
    const own = await issueFirst(deps, { name: administrator, usage: 'client', hosts: [] });
    return { ...(await writeAdministrator(at, { name: administrator, ...own }, plan.baseUrl)), policy };
  } catch (error) {
    if (options.postgres !== undefined) warn(`database \`${options.postgres.database}\` ${leftover}`);
    throw error;
  } finally {
    await store.close();
  }
}

const leftover = 'may contain a partial store: drop and create it before you try again';

/** Opens the new store. Throws `ConflictError` if it was changed before: it is the store of another server. */
async function openEmptyStore(at: At, { options: { postgres }, clock }: Plan): Promise<Store> {
  const place: StorePlace =
    postgres === undefined
      ? { kind: 'sqlite', file: at('data', 'signet.db') }
      : { kind: 'postgres', ...postgres, listen: false };
  const store = await openStore(place, { clock });
  try {
    if ((await store.audit({ limit: 1 })).length === 0) return store;
    throw new ConflictError(`database \`${postgres?.database}\` already contains a store: name an empty database`);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function writeAdministrator(
  at: At,
  { name, notAfter, ...pair }: Awaited<ReturnType<typeof issueFirst>> & { readonly name: PrincipalName },
  baseUrl: string | undefined,
): Promise<Omit<NonNullable<Initialised['administrator']>, 'policy'>> {
  const own = (ending: string) => at('identities', `${name}.${ending}`);
  await writePair(at('identities', name), pair);
  const client = baseUrl === undefined ? undefined : own('yaml');
  if (client !== undefined && baseUrl !== undefined) {
    await replaceFile(client, clientText(name, baseUrl), { mode: 0o600 });
  }
  return {
    name,
    certificate: own('cert.pem'),
    key: own('key.pem'),
    notAfter: formatTimestamp(notAfter * 1000),
    ...(client !== undefined && { client }),
  };
}

async function makeSigningKeys(store: Store, at: At, { options, clock }: Plan): Promise<void> {
  const folder = at('data', 'keys');
  const privateKeys =
    options.sealedKeys === true
      ? keysInStore({ store, sealing: createSealing([await makeSealingKey(at(sealingKeyName))]) })
      : keysInFiles(folder);
  await ensureSigningKeys({ store: signingKeyStore(store, options.actor), privateKeys, clock });
  ensureSealKey(join(folder, sealKeyName));
}

async function makeSealingKey(file: string): Promise<Buffer> {
  const sealingKey = randomBytes(32);
  await replaceFile(file, `${sealingKey.toString('base64')}\n`, { mode: 0o600 });
  return sealingKey;
}
