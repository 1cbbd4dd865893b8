import { type DomainName, parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { ConflictError, NotFoundError } from '../../errors.ts';
import type { DomainContent } from '../../model/records.ts';
import type { DomainEdit } from '../change-domain.ts';
import { awsAccountSchema, domainFieldsSchema, limitsSchema, quotasSchema } from '../documents/document-schema.ts';
import { parseBody } from '../documents/json-source.ts';
import { readMembers } from '../documents/members.ts';
import { definedOnly } from '../documents/parse-document.ts';
import { list, strict } from '../documents/strict.ts';
import { attributes } from '../member-scope.ts';
import { type Quotas, quotasInForce } from '../quotas.ts';
import { systemDomain } from '../rights.ts';

type DomainFields = Omit<DomainContent, 'roles' | 'groups' | 'policies' | 'services'>;

/** What a domain says of itself, as the API shows it. */
export function domainView(domain: DomainFields): Record<string, unknown> {
  return {
    name: domain.name,
    ...(domain.description === undefined ? {} : { description: domain.description }),
    enabled: domain.enabled,
    requireReason: domain.requireReason === true,
    limits: domain.limits,
    accounts: domain.awsAccount === undefined ? {} : { aws: domain.awsAccount },
  };
}

/** Body of `POST` of a domain. */
export const newDomainSchema = strict({
  ...domainFieldsSchema.shape,
  domain: z.string(),
  admins: list(
    z.array(z.string()).min(1, 'must name at least one administrator'),
    (value) => typeof value === 'string',
  ),
});

/** The domain that the body of a `POST` describes: with a role `admin`, and nothing else. */
export function readNewDomain(body: unknown): DomainContent {
  return parseBody(newDomainSchema, body).read((reader, shape) => {
    const name = reader.read(['domain'], () => parseDomainName(shape.domain));
    const members = readMembers(reader, ['admins'], shape.admins, 'role');
    if (name === undefined) return undefined;
    return {
      name,
      enabled: shape.enabled ?? true,
      ...(shape.requireReason === true && { requireReason: true }),
      ...(shape.description !== undefined && { description: shape.description }),
      limits: {},
      roles: [{ name: parseRoleName('admin'), description: 'Administrators of the domain', members }],
      groups: [],
      policies: [],
      services: [],
    };
  });
}

/** `PUT` of what a domain says of itself. */
export function putDomain(domain: DomainName, body: unknown): DomainEdit {
  const fields = parseBody(domainFieldsSchema, body).shape;
  return {
    domain,
    right: 'manage_domain',
    object: 'domain',
    scope: attributes,
    view: domainView,
    apply: ({ description: _old, requireReason: _was, ...content }) => ({
      ...content,
      enabled: fields.enabled ?? true,
      ...(fields.description !== undefined && { description: fields.description }),
      ...(fields.requireReason === true && { requireReason: true }),
    }),
  };
}

/** Whether a domain may be deleted: it is disabled already, and not the one that everything hangs on. Throws `ConflictError`. */
export function checkDeletable(domain: DomainFields): void {
  if (domain.name === systemDomain) throw new ConflictError(`domain \`${systemDomain}\` cannot be deleted`);
  if (domain.enabled) throw new ConflictError(`domain \`${domain.name}\` must be disabled before it is deleted`);
}

/** `PUT` of the upper bounds of lifetimes; what the body leaves out is bounded by the server alone. */
export function putLimits(domain: DomainName, body: unknown): DomainEdit {
  const limits = definedOnly(parseBody(limitsSchema, body).shape);
  return {
    domain,
    right: 'manage_domain',
    object: 'domain',
    scope: attributes,
    view: ({ limits: shown }) => shown,
    apply: (content) => ({ ...content, limits }),
  };
}

/** The quotas of a domain: those in force, and which of them are its own. */
export function quotasView(content: DomainFields, quotas: Quotas): Record<string, unknown> {
  return { inForce: quotasInForce(content, quotas), own: content.quotas ?? {} };
}

/** `PUT` of the quotas of a domain: for system operators. What the body leaves out the server says. */
export function putQuotas(domain: DomainName, body: unknown, quotas: Quotas): DomainEdit {
  const own = definedOnly(parseBody(quotasSchema, body).shape);
  return {
    domain,
    right: 'manage_domain',
    object: 'domain',
    systemOnly: true,
    scope: attributes,
    view: (content) => quotasView(content, quotas),
    apply: ({ quotas: _old, ...content }) => ({ ...content, ...(Object.keys(own).length > 0 && { quotas: own }) }),
  };
}

/** Body of `PUT` of a cloud account. */
export const accountSchema = strict({ account: awsAccountSchema });

function accountView({ awsAccount }: DomainContent): unknown {
  return awsAccount === undefined ? undefined : { account: awsAccount };
}

/** `PUT` of the cloud account of a domain: for system operators, as whoever names an account gets credentials of it. */
export function putAccount(domain: DomainName, body: unknown): DomainEdit {
  const { account } = parseBody(accountSchema, body).shape;
  return {
    domain,
    right: 'manage_domain',
    object: 'domain',
    scope: attributes,
    systemOnly: true,
    view: accountView,
    apply: (content) => ({ ...content, awsAccount: account }),
  };
}

export function deleteAccount(domain: DomainName): DomainEdit {
  return {
    domain,
    right: 'manage_domain',
    object: 'domain',
    scope: attributes,
    systemOnly: true,
    view: accountView,
    apply: ({ awsAccount, ...content }) => {
      if (awsAccount === undefined) throw new NotFoundError(`domain \`${domain}\` has no such account`);
      return content;
    },
  };
}
