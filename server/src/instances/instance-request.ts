import {
  type DomainName,
  type PathElement,
  type PrincipalName,
  parseDomainName,
  parsePathElement,
  parsePrincipalName,
  parseServiceName,
  type ServiceName,
} from '@signet/policy-engine/names';
import { z } from 'zod';
import { InvalidRequestError } from '../errors.ts';
import { isDnsName } from '../x509/naming.ts';

/** `InstanceRefreshInformation`: everything is optional. Lives are in seconds here, whatever unit the wire counts in. */
export interface RefreshInformation {
  readonly attestationData: string;
  readonly csr: string | undefined;
  readonly ssh: string | undefined;
  readonly requestedSeconds: number | undefined;
  readonly hostname: string | undefined;
  readonly cloud: string | undefined;
}

/** `InstanceRegisterInformation`. */
export interface RegisterInformation extends RefreshInformation {
  readonly provider: PrincipalName;
  readonly domain: DomainName;
  readonly service: ServiceName;
  readonly csr: string;
  /** The id, where the request does not carry it. */
  readonly instanceId: PathElement | undefined;
}

/** Longest life that a request may state, in its unit: more is a mistake. */
const maxExpiry = 2 ** 31 - 1;

const text = (maximum: number) => z.string().max(maximum).nullish();

/** `expiryTime` of every request for a certificate; absent and 0 mean the default. */
export const expiryTimeSchema = z.int().min(0).max(maxExpiry).nullish();

/** `InstanceRefreshInformation` as it is sent. */
export const refreshSchema = z.object({
  attestationData: text(262_144),
  csr: text(65_536),
  ssh: text(65_536),
  expiryTime: expiryTimeSchema,
  hostname: text(253),
  cloud: text(256),
});

/** `InstanceRegisterInformation` as it is sent. */
export const registerSchema = refreshSchema.extend({
  provider: z.string(),
  domain: z.string(),
  service: z.string(),
  x509CertInstanceId: text(256),
});

/** Parses a body with a schema; the message of a failure names the field. Throws `InvalidRequestError`. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue === undefined ? '' : fieldOf(issue.path);
  throw new InvalidRequestError(`${field === '' ? 'the body' : `\`${field}\``} ${faultOf(issue)}`);
}

/** `questions[3].action`. */
function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

function faultOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') return 'has a member that is not known';
  if (issue?.code === 'too_small' && issue.origin === 'array') return 'must not be empty';
  if (issue?.code !== 'too_big') return 'is missing or not of its type';
  return issue.origin === 'array' ? `must have at most ${issue.maximum} items` : 'is too large';
}

function emptyIsAbsent(value: string | null | undefined): string | undefined {
  return value === null || value === '' ? undefined : value;
}

/** A wildcard is not a host name: who may vouch for `example.com` may do so host by host. */
function parseHostname(value: string | undefined): string | undefined {
  const name = value?.toLowerCase();
  if (name === undefined || name === 'localhost' || (isDnsName(name) && !name.startsWith('*'))) return name;
  throw new InvalidRequestError('`hostname` is not a host name');
}

function refreshFields(body: z.output<typeof refreshSchema>, unitSeconds: number): RefreshInformation {
  return {
    attestationData: body.attestationData ?? '',
    csr: emptyIsAbsent(body.csr),
    ssh: emptyIsAbsent(body.ssh),
    requestedSeconds:
      body.expiryTime === null || body.expiryTime === undefined ? undefined : body.expiryTime * unitSeconds,
    hostname: parseHostname(emptyIsAbsent(body.hostname)),
    cloud: emptyIsAbsent(body.cloud),
  };
}

/** Reads the body of a refresh. `unitSeconds`: what `expiryTime` counts (docs/reference/certificates.md#units-of-expirytime). */
export function parseRefreshInformation(body: unknown, unitSeconds: number): RefreshInformation {
  const information = refreshFields(parseBody(refreshSchema, body), unitSeconds);
  if (information.csr === undefined && information.ssh === undefined) {
    throw new InvalidRequestError('`csr` or `ssh` is required');
  }
  return information;
}

/** Reads the body of a registration. */
export function parseRegisterInformation(body: unknown, unitSeconds: number): RegisterInformation {
  const parsed = parseBody(registerSchema, body);
  const information = refreshFields(parsed, unitSeconds);
  if (information.csr === undefined) throw new InvalidRequestError('`csr` is required');
  if (information.attestationData === '') throw new InvalidRequestError('`attestationData` is required');
  const id = emptyIsAbsent(parsed.x509CertInstanceId);
  return {
    ...information,
    csr: information.csr,
    provider: parseProviderName(parsed.provider),
    domain: parseDomainName(parsed.domain, 'domain'),
    service: parseServiceName(parsed.service, 'service'),
    instanceId: id === undefined ? undefined : parsePathElement(id, 'x509CertInstanceId'),
  };
}

/** A provider is a service: `domain.service`. Throws `InvalidNameError`. */
export function parseProviderName(value: unknown): PrincipalName {
  const name = parsePrincipalName(value, 'provider');
  if (typeof value !== 'string' || !value.includes('.') || name.includes(':')) {
    throw new InvalidRequestError('provider is not a valid ServiceName: a provider is a service, `domain.service`');
  }
  return name;
}
