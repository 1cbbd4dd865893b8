import { z } from 'zod';
import type { CertificateUsage } from '../../x509/certificate-profile.ts';
import { type AltName, addressText } from '../../x509/subject-alt-names.ts';
import type { AttestationRequest, Attested } from './attestation.ts';

/*
 * Body of a call to a provider and of its answer: the type InstanceConfirmation of the call-out protocol, and the attributes with a meaning.
 * Those in an answer that the server acts on are taken out; the rest goes to the instance.
 */

interface InstanceConfirmation {
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly attestationData: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const maxAttributes = 64;

export const confirmationSchema = z.object({
  provider: z.string(),
  domain: z.string(),
  service: z.string(),
  attributes: z
    .record(z.string().max(256), z.string().max(4096))
    .refine((attributes) => Object.keys(attributes).length <= maxAttributes, 'has too many attributes')
    .nullish(),
});

function namesOf(names: readonly AltName[], kind: AltName['kind']): readonly string[] {
  return names.filter((name) => name.kind === kind).map(({ value }) => (kind === 'ip' ? addressText(value) : value));
}

/** DNS names that the provider can judge: without the id, which is a separate member, and without wildcards. */
function judgedDns(request: AttestationRequest, isOwnName: (name: string) => boolean): readonly string[] {
  return namesOf(request.altNames, 'dns').filter((name) => !name.startsWith('*') && !isOwnName(name));
}

/** The request to a provider. `isOwnName`: names that this server gives by itself, which no provider needs to vouch for. */
export function confirmationFor(
  request: AttestationRequest,
  isOwnName: (name: string) => boolean,
): InstanceConfirmation {
  const known: readonly (readonly [name: string, value: string | undefined])[] = [
    ['instanceId', request.instanceId],
    ['clientIP', request.clientAddress],
    ['sanDNS', judgedDns(request, isOwnName).join(',')],
    ['sanIP', namesOf(request.altNames, 'ip').join(',') || undefined],
    ['sanURI', namesOf(request.altNames, 'uri').join(',') || undefined],
    ['hostname', request.hostname],
    ['principal', request.principal],
    ['instanceCloud', request.cloud],
    ['awsAccount', request.awsAccount],
  ];
  const given = known.filter((entry): entry is readonly [string, string] => entry[1] !== undefined);
  const { provider, domain, service, attestationData } = request;
  return { provider, domain, service, attestationData, attributes: Object.fromEntries(given) };
}

const taken = new Set([
  'certUsage',
  'certExpiryTime',
  'certRefresh',
  'certSubjectOU',
  'certSSH',
  'instancePrivateIp',
  'attestedSshCertPrincipals',
]);

/* A usage that we do not give narrows the certificate as far as we can: it is for clients only. */
function usageFrom(text: string | undefined): CertificateUsage {
  if (text === undefined || text === '') return 'both';
  return text === 'server' ? 'server' : 'client';
}

/** Meaning of an answer. `certExpiryTime` counts minutes in this protocol. */
export function attestedBy(attributes: Readonly<Record<string, string>>): Attested {
  const answer = new Map(Object.entries(attributes));
  const minutes = Number(answer.get('certExpiryTime') ?? 0);
  const principals = answer.get('attestedSshCertPrincipals');
  return {
    usage: usageFrom(answer.get('certUsage')),
    maxSeconds: Number.isSafeInteger(minutes) && minutes > 0 ? minutes * 60 : undefined,
    recorded: answer.get('certRefresh') !== 'false',
    ssh: answer.get('certSSH') === 'true',
    sshPrincipals: principals === undefined ? undefined : principals.split(',').filter((name) => name !== ''),
    attributes: Object.fromEntries([...answer].filter(([name]) => !taken.has(name))),
  };
}
