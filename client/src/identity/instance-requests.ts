import { createPrivateKey, hash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { instanceHostName } from '@signet/policy-engine/names';
import { SignetClientError } from '../client-errors.ts';
import { type JsonObject, malformed, stringMember } from '../decode.ts';
import { commonName } from '../roles.ts';
import { makeKeyAndRequest } from './certificate-request.ts';
import type { IdentityTexts } from './identity-files.ts';
import { type Peer, postJson } from './post-json.ts';

/** Name of an instance: its service, its id, and its provider. */
export interface InstanceName {
  /** The provider, `domain.service`. */
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly instanceId: string;
  /** Host of the SPIFFE id, as the server is configured. */
  readonly trustDomain: string;
  /** End of DNS names that the server gives. Default: the trust domain. */
  readonly dnsSuffix?: string | undefined;
  /** Further DNS names to ask for. */
  readonly dnsNames?: readonly string[] | undefined;
  /** Addresses to ask for, for services that are reached without a name; the server gives the one that the request comes from, with a right to it. */
  readonly addresses?: readonly string[] | undefined;
  /** Host that the instance runs on, which its provider must be allowed to vouch for; asked for as a DNS name too. */
  readonly hostname?: string | undefined;
  /** Seconds; the server lowers it to what is allowed. */
  readonly expirySeconds?: number | undefined;
  /** File of the public key of the SSH server beside it: a host certificate for the DNS names is requested as well. */
  readonly sshHostKey?: string | undefined;
}

/** An identity as the server gave it, with what its certificate says. */
export interface ReceivedIdentity extends IdentityTexts {
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly serial: string;
}

/** DNS names requested beside the name that every instance has. */
function dnsNamesOf(name: InstanceName): readonly string[] {
  const hosts = name.hostname === undefined ? [] : [name.hostname];
  return [...new Set([...hosts, ...(name.dnsNames ?? [])])];
}

/** New key, and the common body of register and refresh. */
async function newRequest(name: InstanceName): Promise<{ readonly key: string; readonly body: JsonObject }> {
  const principal = `${name.domain}.${name.service}`;
  const { key, request: csr } = await makeKeyAndRequest({
    commonName: principal,
    uris: [`spiffe://${name.trustDomain}/ns/default/sa/${principal}`],
    dnsNames: dnsNamesOf(name),
    addresses: name.addresses ?? [],
  });
  const ssh = name.sshHostKey === undefined ? undefined : await hostRequest(name, name.sshHostKey);
  return { key, body: { csr, hostname: name.hostname, expiryTime: name.expirySeconds, ssh } };
}

function ownName({ provider, domain, service, instanceId, trustDomain, dnsSuffix }: InstanceName): string {
  const parts = { provider: provider.toLowerCase(), domain: domain.toLowerCase(), service: service.toLowerCase() };
  return instanceHostName({ ...parts, instanceId }, dnsSuffix ?? trustDomain, (text) => hash('sha256', text, 'buffer'));
}

async function hostRequest(name: InstanceName, keyFile: string): Promise<string> {
  let publicKey: string;
  try {
    publicKey = (await readFile(keyFile, 'utf8')).trim();
  } catch (cause) {
    throw new SignetClientError('invalid-identity', 'sshHostKey cannot be read', { cause });
  }
  // The file beside it holds the private key, which must not leave the machine.
  if (publicKey.includes('PRIVATE KEY')) {
    throw new SignetClientError('invalid-identity', 'sshHostKey is a private key, not the public one');
  }
  return JSON.stringify({
    certRequestData: { principals: [ownName(name), ...dnsNamesOf(name)], publicKey },
    certRequestMeta: { requestor: `${name.domain}.${name.service}`, certType: 'host' },
  });
}

/** Identity from the answer; refused unless it is a certificate for this service over the key that was made. */
function received(answer: JsonObject, { domain, service }: InstanceName, key: string): ReceivedIdentity {
  const certificate = stringMember(answer, 'x509Certificate');
  const issuers = stringMember(answer, 'x509CertificateSigner');
  const leaf = readLeaf(certificate);
  if (commonName(leaf.subject) !== `${domain}.${service}` || !leaf.checkPrivateKey(createPrivateKey(key))) {
    throw malformed('its certificate does not match the request');
  }
  const ssh = answer['sshCertificate'];
  return {
    certificate,
    key,
    issuers,
    notAfter: leaf.validToDate.getTime(),
    serial: leaf.serialNumber.toLowerCase(),
    ...(typeof ssh === 'string' && ssh !== '' && { sshHostCertificate: `${ssh.trim()}\n` }),
  };
}

function readLeaf(certificate: string): X509Certificate {
  try {
    return new X509Certificate(certificate);
  } catch {
    throw malformed('it contains no certificate');
  }
}

/** Registers the instance with what attests it (`POST /instance`). Throws `SignetClientError`. */
export async function registerInstance(
  peer: Omit<Peer, 'identity'>,
  name: InstanceName,
  attestationData: string,
  signal?: AbortSignal,
): Promise<ReceivedIdentity> {
  const { key, body } = await newRequest(name);
  const { provider, domain, service } = name;
  const asked = { ...body, provider, domain, service, attestationData, x509CertInstanceId: name.instanceId };
  return received(await postJson(peer, ['instance'], asked, signal), name, key);
}

/** Exchanges the certificate in use for a new one with a new key. Throws `SignetClientError`. */
export async function refreshInstance(
  peer: Peer,
  name: InstanceName,
  attestationData: string | undefined,
  signal?: AbortSignal,
): Promise<ReceivedIdentity> {
  const { key, body } = await newRequest(name);
  const path = ['instance', name.provider, name.domain, name.service, name.instanceId];
  return received(await postJson(peer, path, { ...body, attestationData }, signal), name, key);
}
