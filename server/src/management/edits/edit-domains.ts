import { type DomainName, parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { ConflictError, NotFoundError } from '../../errors.ts';
import { unchanged } from '../../model/domain-change.ts';
import { emptyDomain } from '../../model/empty-domain.ts';
import { viewOf, withFields } from '../../model/fields.ts';
import { awsAccountSchema, recordFields } from '../../model/record-fields.ts';
import type { DomainContent, DomainFields, Quotas } from '../../model/records.ts';
import { domainFieldsSchema, limitsSchema, quotasSchema } from '../documents/document-schema.ts';
import { parseBody } from '../documents/json-source.ts';
import { readMembers } from '../documents/members.ts';
import { readQuotas } from '../documents/parse-document.ts';
import { list, strict } from '../documents/strict.ts';
import type { DomainEdit } from '../judge-edit.ts';
import { quotasInForce } from '../quotas.ts';
import { systemDomain } from '../rights.ts';

/** Domain attributes as the API shows them. */
export function domainView(domain: DomainFields): Record<string, unknown> {
  return {
    name: domain.name,
    ...viewOf(recordFields.domain, domain),
    limits: domain.limits,
    accounts: domain.accounts,
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
    const admin = { name: parseRoleName('admin'), description: 'Administrators of the domain', members };
    return { ...emptyDomain(name), ...reader.fields([], recordFields.domain, shape), roles: [admin] };
  });
}

interface FieldsEdit {
  readonly systemOnly?: boolean;
  view(domain: DomainFields): unknown;
  apply(domain: DomainFields): DomainFields;
}

function editOf(domain: DomainName, { view, apply, ...rest }: FieldsEdit): DomainEdit {
  return {
    domain,
    right: 'manage_domain',
    object: 'domain',
    ...rest,
    read: async (_, stored) => ({
      view: view(stored),
      change: () => ({ ...unchanged(stored), after: apply(stored) }),
    }),
  };
}

/** `PUT` of a domain's attributes. */
export function putDomain(domain: DomainName, body: unknown): DomainEdit {
  const said = parseBody(domainFieldsSchema, body).read((reader, shape) => {
    return reader.fields([], recordFields.domain, shape);
  });
  return editOf(domain, { view: domainView, apply: (stored) => withFields(recordFields.domain, stored, said) });
}

/** Requires that a domain may be deleted: it is disabled already, and not the system's own. Throws `ConflictError`. */
export function checkDeletable(domain: DomainFields): void {
  if (domain.name === systemDomain) throw new ConflictError(`domain \`${systemDomain}\` cannot be deleted`);
  if (domain.enabled) throw new ConflictError(`domain \`${domain.name}\` must be disabled before it is deleted`);
}

/** `PUT` of the upper bounds of lifetimes; what the body leaves out is bounded by the server alone. */
export function putLimits(domain: DomainName, body: unknown): DomainEdit {
  const limits = parseBody(limitsSchema, body).read((reader, shape) => reader.fields([], recordFields.limits, shape));
  return editOf(domain, { view: ({ limits: shown }) => shown, apply: (content) => ({ ...content, limits }) });
}

/** The quotas of a domain: those in force, and which of them are its own. */
export function quotasView(content: DomainFields, quotas: Quotas): Record<string, unknown> {
  return { inForce: quotasInForce(content, quotas), own: content.quotas ?? {} };
}

/** `PUT` of the quotas of a domain: for system operators. What the body leaves out the server says. */
export function putQuotas(domain: DomainName, body: unknown, quotas: Quotas): DomainEdit {
  const own = readQuotas(parseBody(quotasSchema, body).shape);
  return editOf(domain, {
    systemOnly: true,
    view: (content) => quotasView(content, quotas),
    apply: ({ quotas: _old, ...content }) => ({ ...content, ...own }),
  });
}

/** Body of `PUT` of a cloud account. */
export const accountSchema = strict({ account: awsAccountSchema });

/** Undefined when the domain has none. */
export function accountView({ accounts: { aws } }: DomainFields): { readonly account: string } | undefined {
  return aws === undefined ? undefined : { account: aws };
}

/** `PUT` of the cloud account of a domain: for system operators, as naming an account grants credentials of it. */
export function putAccount(domain: DomainName, body: unknown): DomainEdit {
  const { account } = parseBody(accountSchema, body).shape;
  return editOf(domain, {
    systemOnly: true,
    view: accountView,
    apply: (content) => ({ ...content, accounts: { ...content.accounts, aws: account } }),
  });
}

export function deleteAccount(domain: DomainName): DomainEdit {
  return editOf(domain, {
    systemOnly: true,
    view: accountView,
    apply: (content) => {
      const { aws, ...accounts } = content.accounts;
      if (aws === undefined) throw new NotFoundError(`domain \`${domain}\` has no such account`);
      return { ...content, accounts };
    },
  });
}
