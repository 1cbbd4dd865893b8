import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { parseDomainName, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import type { DevState } from '../cli/dev-state.ts';
import {
  type Authority,
  type CertificateAndKey,
  issueIdentity,
  issueServerCertificate,
} from '../x509/certificate-authority.ts';
import { loadAuthority } from '../x509/load-authority.ts';
import type { WorldPaths } from './data-folder.ts';

/** The sample services that get their certificates from the token server, as instances. */
export const sampleInstances = [
  'catalog.api',
  'catalog.updater',
  'media.player',
  'media.studio',
  'media.guest',
] as const;

/** Services needed for the start: the first operator, and the server itself. Their certificates are made here. */
export const bootstrapServices = ['sys.auth.operator', 'sys.auth.server'] as const;

/** People who administer the sample provider: one asks, the other approves. Their certificates are made here, too. */
const samplePeople = ['user.ann', 'user.bob'] as const;

/** Whose console `signet dev` serves. */
export const consoleIdentity = samplePeople[0];

export const trustDomain = 'signet.local';

/** The host name that the sample policy grants: services that listen are called by the name of this machine. */
export const sampleHost = 'localhost';

const leafDays = 365;
const localHosts = ['localhost', '127.0.0.1', '::1'];

export type IdentityFiles = DevState['identities'][string];

/** Files of each sample principal: its certificate (with its chain) and key. */
export function identityFiles(paths: WorldPaths): DevState['identities'] {
  return Object.fromEntries(
    [...sampleInstances, ...bootstrapServices, ...samplePeople].map((name) => [
      name,
      { cert: join(paths.identities, `${name}.cert.pem`), key: join(paths.identities, `${name}.key.pem`) },
    ]),
  );
}

/** The authority that `signet init` made. */
export function loadLocalAuthority(paths: WorldPaths): Promise<Authority> {
  return loadAuthority(join(paths.ca, 'intermediate.cert.pem'), join(paths.ca, 'intermediate.key.pem'));
}

/**
 * Makes the bootstrap identities that are missing or unusable, and renews those in the last quarter of their life; everything else stays
 * as it is.
 */
export async function ensureIdentities(paths: WorldPaths, clock: Clock): Promise<void> {
  const authority = await loadLocalAuthority(paths);
  const server = { cert: paths.serverCertificate, key: paths.serverKey };
  const files = identityFiles(paths);
  const own = [...bootstrapServices, ...samplePeople].flatMap((name) =>
    files[name] === undefined ? [] : [[name, files[name]] as const],
  );
  for (const [name, pair] of [...own, ['sys.auth.server', server] as const]) {
    if (isFit(pair, authority, clock.now())) continue;
    const made =
      pair === server
        ? issueServerCertificate(authority, { ...nameOf(name), hosts: localHosts }, leafDays, clock)
        : issueIdentity(authority, nameOf(name), leafDays, clock);
    await writePair(pair, await made);
  }
}

function nameOf(name: string) {
  const parts = splitPrincipal(parsePrincipalName(name));
  if (parts === undefined) throw new Error(`\`${name}\` is not a service`);
  return { ...parts, trustDomain: parseDomainName(trustDomain) };
}

/** A certificate by this authority, with its own key, and more than a quarter of its life left. */
export function isFit({ cert, key }: IdentityFiles, authority: Authority, now: number): boolean {
  try {
    const leaf = new X509Certificate(readFileSync(cert));
    const issuer = new X509Certificate(authority.certificate);
    const life = leaf.validToDate.getTime() - leaf.validFromDate.getTime();
    return (
      leaf.verify(issuer.publicKey) &&
      leaf.checkPrivateKey(createPrivateKey(readFileSync(key, 'utf8'))) &&
      leaf.validToDate.getTime() - now > life / 4
    );
  } catch {
    return false;
  }
}

/** The key first: a process that is killed in between leaves a pair that does not fit, and is made again. */
async function writePair({ cert, key }: IdentityFiles, made: CertificateAndKey): Promise<void> {
  await replaceFile(key, made.key, { mode: 0o600 });
  await replaceFile(cert, made.certificate, { mode: 0o644 });
}

/** The public half of a key file, as services register it: SPKI PEM. */
export function publicKeyPem(keyFile: string): string {
  return createPublicKey(readFileSync(keyFile, 'utf8')).export({ type: 'spki', format: 'pem' }).toString();
}
