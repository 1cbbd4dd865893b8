import { JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';
import {
  type PathElement,
  type PrincipalName,
  parsePathElement,
  parsePrincipalName,
} from '@signet/policy-engine/names';
import { z } from 'zod';
import { InvalidRequestError, TooLargeError } from '../errors.ts';
import { maxPrincipals, type SshCertificateKind } from './ssh-profile.ts';
import { maxKeyLineLength, parseSshPublicKey, type SshPublicKey } from './ssh-public-key.ts';

/** A request for an SSH certificate. The names in it are grammatical and not yet checked against anything. */
export interface SshCertRequest {
  readonly kind: SshCertificateKind;
  /** Principals, never empty. */
  readonly principals: readonly string[];
  readonly publicKey: SshPublicKey;
  /** Requestor as the request states it; compared with the authenticated caller. */
  readonly requestor: PrincipalName;
  /** Owner of a host as the request states it; compared as well. */
  readonly service?: PrincipalName;
  readonly instanceId?: PathElement;
}

/** The longest request accepted as text, in characters. */
export const maxSshCsrLength = 16_384;

const maxNameLength = 256;
const name = z.string().min(1).max(maxNameLength);
const names = z.array(name).max(maxPrincipals);
const note = z.string().max(1024);

/* Fields that a caller may send and that decide nothing stand beside those that count; a field that is in neither list is refused. */
export const requestSchema = z.strictObject({
  certRequestData: z.strictObject({
    principals: names.min(1),
    publicKey: z.string().max(maxKeyLineLength),
    sources: names.optional(),
    destinations: names.optional(),
    command: note.optional(),
    touchPublicKey: z.string().max(maxKeyLineLength).optional(),
    caPubKeyAlgo: z.int().optional(),
  }),
  certRequestMeta: z.strictObject({
    requestor: name,
    origin: note.optional(),
    clientInfo: note.optional(),
    sshClientVersion: note.optional(),
    certType: z.string().max(16),
    keyIdPrincipals: names.optional(),
    athenzService: name.optional(),
    instanceId: name.optional(),
    prevCertValidFrom: note.optional(),
    prevCertValidTo: note.optional(),
    transId: note.optional(),
  }),
  csr: z.string().optional(),
  attestationData: z.string().optional(),
});
type Wire = z.output<typeof requestSchema>;

const kinds: ReadonlyMap<string, SshCertificateKind> = new Map([
  ['user', 'user'],
  ['ssh_user', 'user'],
  ['host', 'host'],
  ['ssh_host', 'host'],
]);

/** Reads the text of the field `ssh` of an instance's request: the JSON of a request. Throws as `parseSshCertRequest` does. */
export function parseSshCsr(text: string): SshCertRequest {
  if (text.length > maxSshCsrLength) throw new TooLargeError(`ssh must have ${maxSshCsrLength} characters at most`);
  let value: unknown;
  try {
    value = parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new InvalidRequestError('ssh is not JSON');
    throw error;
  }
  return parseSshCertRequest(value);
}

/**
 * Reads an SSHCertRequest. Options, networks, a second key and the free form `csr` are refused when they are asked for: what a
 * certificate permits is configured, and nothing is dropped silently. Throws `InvalidRequestError` (the field and the rule)
 * and, for names, `InvalidNameError`.
 */
export function parseSshCertRequest(value: unknown): SshCertRequest {
  const parsed = requestSchema.safeParse(value);
  if (!parsed.success) throw new InvalidRequestError(describe(parsed.error.issues[0]));
  refuseUnsupported(parsed.data);
  const { certRequestData: data, certRequestMeta: meta } = parsed.data;
  const kind = kinds.get(meta.certType.toLowerCase());
  if (kind === undefined) throw new InvalidRequestError('certRequestMeta.certType must be `user` or `host`');
  return {
    kind,
    principals: [...new Set(data.principals)],
    publicKey: parseSshPublicKey(data.publicKey, 'certRequestData.publicKey'),
    requestor: parsePrincipalName(meta.requestor, 'certRequestMeta.requestor'),
    ...(meta.athenzService === undefined
      ? {}
      : { service: parsePrincipalName(meta.athenzService, 'certRequestMeta.athenzService') }),
    ...(meta.instanceId === undefined
      ? {}
      : { instanceId: parsePathElement(meta.instanceId, 'certRequestMeta.instanceId') }),
  };
}

function refuseUnsupported({ certRequestData: data, csr, attestationData }: Wire): void {
  const asked: readonly (readonly [field: string, isAsked: boolean, why: string])[] = [
    ['certRequestData.command', isPresent(data.command), 'options are set by configuration only'],
    ['certRequestData.sources', isPresent(data.sources), 'options are set by configuration only'],
    ['certRequestData.destinations', isPresent(data.destinations), 'options are set by configuration only'],
    ['certRequestData.touchPublicKey', isPresent(data.touchPublicKey), 'one key a request'],
    ['csr', isPresent(csr), 'the fields certRequestData and certRequestMeta are used instead'],
    ['attestationData', isPresent(attestationData), 'an instance attests when it registers'],
  ];
  const found = asked.find(([, isAsked]) => isAsked);
  if (found !== undefined) throw new InvalidRequestError(`${found[0]} is not accepted: ${found[2]}`);
}

function isPresent(value: string | readonly string[] | undefined): boolean {
  return value !== undefined && value.length > 0;
}

/* The library's own texts may quote what was sent, so only the field and the kind of the problem are told. */
function describe(issue: z.core.$ZodIssue | undefined): string {
  const field = issue === undefined || issue.path.length === 0 ? 'ssh certificate request' : issue.path.join('.');
  if (issue?.code === 'unrecognized_keys') return `${field} has a field that is not known`;
  if (issue?.code === 'too_small') return `${field} must not be empty`;
  if (issue?.code === 'too_big') return `${field} is too long`;
  return `${field} is missing or has the wrong type`;
}
