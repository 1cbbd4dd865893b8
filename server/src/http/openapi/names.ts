import { maxNameLength } from '@signet/policy-engine/names';
import { maxResourceLength } from '@signet/policy-engine/policy';
import { z } from 'zod';

/*
 * Names and times as the document describes them (docs/reference/names.md#grammar). The parsers of `@signet/policy-engine/names` decide what is accepted;
 * `test/server/http/openapi-names.test.ts` compares the two.
 */

const simple = '[a-zA-Z0-9_][a-zA-Z0-9_-]*';
const compound = `${simple}(?:\\.${simple})*`;

function text(pattern: string, description: string, maxLength = maxNameLength): z.ZodType {
  return z.string().meta({ minLength: 1, maxLength, pattern: `^(?:${pattern})$`, description });
}

export const names = {
  ActionName: text(compound, 'an action'),
  DomainName: text(compound, 'a domain, unique in the system'),
  EntityName: text(compound, 'a role, group or policy by its name in its domain, or a principal'),
  ServiceName: text(simple, 'a service by its name in its domain'),
  ProviderName: text(`${simple}(?:\\.${simple})+`, 'attestation provider of instances: `domain.service`'),
  MemberName: text(
    `\\*|[a-zA-Z0-9_][a-zA-Z0-9_.-]*\\*|${simple}(?:\\.${simple})+|${compound}:group\\.${compound}`,
    'a principal, a group `domain:group.name`, everyone `*`, or a prefix such as `media.*`',
  ),
  KeyId: text('[a-zA-Z0-9_][a-zA-Z0-9_.-]*', 'ID of a key of a service; case-sensitive'),
  PathElement: text('(?!\\.{1,2}$)[a-zA-Z0-9\\-\\\\._~=+@$,:]+', 'case-sensitive ID, such as an instance ID'),
  AWSArnRoleName: text(
    '(?:[a-zA-Z0-9][a-zA-Z0-9\\-._]*/)*[a-zA-Z0-9\\-._=+@,]{1,64}',
    'cloud role, with its path if it has one; `/` is encoded as `%2F`',
    576,
  ),
  Timestamp: z.iso.datetime().meta({ description: 'in UTC, such as `2027-01-01T00:00:00Z`' }),
  Thumbprint: z.string().meta({
    pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$',
    description: 'the SHA-256 of a certificate in DER, base64url (`x5t#S256` of RFC 8705 §3.1)',
  }),
} as const;

/** Schemas of path parameters; the others are described with their operation. */
export const pathParameters: Readonly<Record<string, z.ZodType>> = {
  action: names.ActionName,
  domain: names.DomainName,
  domainName: names.DomainName,
  instanceId: names.PathElement,
  keyId: names.KeyId,
  member: names.MemberName,
  name: names.EntityName,
  principal: names.EntityName,
  provider: names.ProviderName,
  resource: z.string().meta({ minLength: 1, maxLength: maxResourceLength }),
  roleName: names.EntityName,
  service: names.ServiceName,
  serviceName: names.ServiceName,
};
