import { X509Certificate } from 'node:crypto';
import { type JsonObject, stringMember } from '../decode.ts';
import { SignetClientError } from '../errors.ts';
import { makeKeyAndRequest } from './certificate-request.ts';
import type { IdentityTexts } from './identity-files.ts';
import { type Peer, postJson } from './post-json.ts';

/** Which instance of which service this is, and who vouches for it. */
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
  /** Addresses to ask for, for services that are reached without a name; the server gives the one that the request comes from. */
  readonly addresses?: readonly string[] | undefined;
  /** Host that the instance runs on, which its provider must be allowed to vouch for; asked for as a DNS name too. */
  readonly hostname?: string | undefined;
  /** Seconds; the server lowers it to what is allowed. */
  readonly expirySeconds?: number | undefined;
}

export interface ReceivedIdentity extends IdentityTexts {
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly serial: string;
}

function newRequest(name: InstanceName): ReturnType<typeof makeKeyAndRequest> {
  const principal = `${name.domain}.${name.service}`;
  const hosts = name.hostname === undefined ? [] : [name.hostname];
  return makeKeyAndRequest({
    commonName: principal,
    uris: [`spiffe://${name.trustDomain}/ns/default/sa/${principal}`],
    dnsNames: [
      `${name.instanceId}.instanceid.${name.dnsSuffix ?? name.trustDomain}`,
      ...new Set([...hosts, ...(name.dnsNames ?? [])]),
    ],
    addresses: name.addresses ?? [],
  });
}

function received(answer: JsonObject, key: string): ReceivedIdentity {
  const certificate = stringMember(answer, 'x509Certificate');
  const issuers = stringMember(answer, 'x509CertificateSigner');
  try {
    const leaf = new X509Certificate(certificate);
    return { certificate, key, issuers, notAfter: leaf.validToDate.getTime(), serial: leaf.serialNumber.toLowerCase() };
  } catch (cause) {
    throw new SignetClientError('response-malformed', 'the answer holds no certificate', { cause });
  }
}

/** Registers the instance with what attests it (`POST /instance`). Throws `SignetClientError`. */
export async function registerInstance(
  peer: Omit<Peer, 'identity'>,
  name: InstanceName,
  attestationData: string,
  signal?: AbortSignal,
): Promise<ReceivedIdentity> {
  const { key, request: csr } = await newRequest(name);
  const { provider, domain, service, hostname, expirySeconds: expiryTime } = name;
  const body = { provider, domain, service, attestationData, csr, hostname, expiryTime };
  return received(await postJson(peer, ['instance'], body, signal), key);
}

/** Exchanges the certificate in use for a new one with a new key. Throws `SignetClientError`. */
export async function refreshInstance(
  peer: Peer,
  name: InstanceName,
  attestationData: string | undefined,
  signal?: AbortSignal,
): Promise<ReceivedIdentity> {
  const { key, request: csr } = await newRequest(name);
  const path = ['instance', name.provider, name.domain, name.service, name.instanceId];
  const body = { attestationData, csr, hostname: name.hostname, expiryTime: name.expirySeconds };
  return received(await postJson(peer, path, body, signal), key);
}
