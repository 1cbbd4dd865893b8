import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { parseKeyId, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { parseDocument } from 'yaml';
import type { DevState } from '../cli/dev-state.ts';
import { addressOf } from '../cli/init/base-url.ts';
import { initialise } from '../cli/initialise.ts';
import { applyDocuments } from '../management/apply-documents.ts';
import { readDocumentFolder } from '../management/documents/read-folder.ts';
import { registerServiceKey } from '../management/service-keys.ts';
import type { Store, StoreState } from '../model/store.ts';
import type { ProfileRules } from '../profile.ts';
import { knownHostsLine, parseSshAuthority } from '../ssh/ssh-authority.ts';
import { openStore } from '../store/open.ts';
import type { WorldPaths } from './data-folder.ts';
import {
  bootstrapServices,
  ensureIdentities,
  identityFiles,
  publicKeyPem,
  sampleHost,
  trustDomain,
} from './identities.ts';
import { ensureMachines } from './machines.ts';

const context = { actor: 'signet dev' };

interface EnsureWorldDeps {
  readonly paths: WorldPaths;
  /** The folder of the sample documents. */
  readonly policies: string;
  readonly port: number;
  /** Profile of the server; undefined: the one of its configuration. */
  readonly profile: ProfileRules['name'] | undefined;
  readonly clock: Clock;
}

/**
 * Makes the world on first start and brings it up to date later. A start that was cut off is taken up by the next one: `signet.yaml` is
 * the last file of the first half (authority, keys, store), `complete.json` of the second (policies, public keys).
 */
export async function ensureWorld(deps: EnsureWorldDeps): Promise<{ identities: DevState['identities'] }> {
  const { paths, port, profile, clock } = deps;
  if (!existsSync(paths.config)) {
    const { schemas, ca, dataDir, identities, serverCertificate, serverKey, complete } = paths;
    for (const half of [schemas, ca, dataDir, identities, serverCertificate, serverKey, complete]) {
      rmSync(half, { recursive: true, force: true });
    }
    const hosts = { host: '127.0.0.1', port, hosts: [] };
    const sshHosts = [sampleHost];
    const made = { folder: paths.folder, profile, ...hosts, trustDomain, sshHosts };
    await initialise({ ...made, identities: [], ...context }, clock);
    // Private files: this world has one user, while they would be public elsewhere.
    for (const name of readdirSync(paths.ca)) chmodSync(join(paths.ca, name), 0o600);
  }
  await listenOn(paths.config, port, profile);
  await keepKnownHosts(paths);
  await ensureMachines(paths);
  await ensureIdentities(paths, clock);
  const identities = identityFiles(paths);
  const store = await openStore({ kind: 'sqlite', file: join(paths.dataDir, 'signet.db') }, { clock });
  try {
    await fillStore(store, deps, identities);
  } finally {
    await store.close();
  }
  return { identities };
}

async function fillStore(store: Store, deps: EnsureWorldDeps, identities: DevState['identities']): Promise<void> {
  const { paths } = deps;
  if (!existsSync(paths.complete)) {
    await applyDocuments(store, readDocumentFolder(deps.policies), context, { now: deps.clock.now() });
  }
  await registerKeys(store, identities, bootstrapServices);
  if (!existsSync(paths.complete)) await replaceFile(paths.complete, '{}\n', { mode: 0o600 });
}

/** Updates known hosts: an earlier world has a line for names of the trust domain only; an edited one stays. */
async function keepKnownHosts({ ca }: WorldPaths): Promise<void> {
  const file = join(ca, 'ssh-known-hosts');
  const authority = parseSshAuthority(readFileSync(join(ca, 'ssh-host.key.pem'), 'utf8'), 'ssh-host.key.pem');
  const line = (...hosts: readonly string[]) => `${knownHostsLine(authority, hosts)}\n`;
  const all = `*.${trustDomain}`;
  if (existsSync(file) && readFileSync(file, 'utf8') === line(all)) {
    await replaceFile(file, line(all, sampleHost), { mode: 0o600 });
  }
}

/**
 * The file says what runs: the profile and the port of this start, and the address that follows from them. Unless the file says otherwise the server renews its
 * certificate and may call providers on this machine. The rest of it is left alone.
 */
async function listenOn(file: string, port: number, profile: ProfileRules['name'] | undefined): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const document = parseDocument(text);
  document.setIn(['listen', 'port'], port);
  if (profile !== undefined) document.set('profile', profile);
  const inForce = document.get('profile') === 'athenz' ? 'athenz' : 'signet';
  const baseUrl: unknown = document.get('baseUrl');
  const isOurs = baseUrl === undefined || /^https:\/\/localhost:\d+(\/zts)?\/v1$/.test(String(baseUrl));
  if (isOurs && port === 0) document.delete('baseUrl');
  else if (isOurs) document.set('baseUrl', addressOf('localhost', port, inForce));
  if (!document.hasIn(['tls', 'renew'])) document.setIn(['tls', 'renew'], true);
  const allow = ['instances', 'callOut', 'allow'];
  if (!document.hasIn(allow)) document.setIn(allow, ['127.0.0.1']);
  const issued = ['management', 'requests', 'issuedByOperators'];
  // Nobody logs in here: this command issues the certificates of both people.
  if (!document.hasIn(issued)) document.setIn(issued, true);
  const changed = document.toString();
  if (changed !== text) await replaceFile(file, changed, { mode: 0o600 });
}

/**
 * Registers the public key of each of these services, with key id `0`: principal tokens are verified with it. Answers where the store
 * stands. A server may be running on it.
 */
export async function registerPublicKeys(
  { paths, identities, clock }: Pick<EnsureWorldDeps, 'paths' | 'clock'> & Pick<DevState, 'identities'>,
  names: readonly string[],
): Promise<StoreState> {
  const store = await openStore({ kind: 'sqlite', file: join(paths.dataDir, 'signet.db') }, { clock });
  try {
    await registerKeys(store, identities, names);
    return await store.state();
  } finally {
    await store.close();
  }
}

/** Registers keys of services; a service that was removed stays removed. */
async function registerKeys(store: Store, identities: DevState['identities'], names: readonly string[]): Promise<void> {
  for (const name of names) {
    const files = identities[name];
    const parts = splitPrincipal(parsePrincipalName(name));
    if (parts === undefined || files === undefined) continue;
    const domain = await store.domain(parts.domain);
    if (!domain?.services.some((service) => service.name === parts.service)) continue;
    const key = { ...parts, keyId: parseKeyId('0'), pem: publicKeyPem(files.key) };
    await registerServiceKey(store, key, context);
  }
}
