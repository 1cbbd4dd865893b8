import { formatTimestamp } from '@signet/policy-engine/clock';
import { stringify } from 'yaml';
import { ConflictError } from '../errors.ts';
import type { AssertionRecord, DomainContent, MemberRecord, PolicyRecord, ServiceRecord } from '../model/records.ts';
import { conditionsShape } from './documents/conditions.ts';
import type {
  AssertionShape,
  DocumentShape,
  GroupShape,
  MemberShape,
  PolicyShape,
  RoleShape,
  ServiceShape,
} from './documents/document-schema.ts';

/**
 * The document that makes exactly this domain: applied to the store that it came from it changes nothing. Throws `ConflictError`
 * for what documents cannot say: conditions of a newer version, or versions of one policy of which only some keep their case.
 */
export function exportDomain(domain: DomainContent): string {
  return stringify(documentOf(domain), { lineWidth: 120 });
}

/** The same as plain data, in the order of a document. */
export function documentOf(domain: DomainContent): DocumentShape {
  return definedOnly({
    domain: domain.name,
    description: domain.description,
    enabled: domain.enabled ? undefined : false,
    requireReason: domain.requireReason === true ? true : undefined,
    limits: Object.keys(domain.limits).length === 0 ? undefined : domain.limits,
    quotas: domain.quotas,
    account: domain.awsAccount === undefined ? undefined : { aws: domain.awsAccount },
    roles: named(domain.roles, (role) => roleShape(role)),
    groups: named(domain.groups, (group) => groupShape(group)),
    policies: policyShapes(domain),
    services: named(domain.services, serviceShape),
  });
}

export function memberShape({ name, expires, disabled, review }: MemberRecord): MemberShape {
  if (expires === undefined && review === undefined && !disabled) return name;
  return definedOnly({
    name,
    expires: expires === undefined ? undefined : formatTimestamp(expires),
    disabled: disabled ? true : undefined,
    review: review === undefined ? undefined : formatTimestamp(review),
  });
}

export function roleShape({ members, name: _, ...role }: DomainContent['roles'][number]): RoleShape {
  return { ...role, ...(members.length > 0 && { members: members.map(memberShape) }) };
}

export function groupShape({ members, name: _, ...group }: DomainContent['groups'][number]): GroupShape {
  return { ...group, ...(members.length > 0 && { members: members.map(memberShape) }) };
}

export function serviceShape(service: ServiceRecord): ServiceShape {
  return definedOnly({
    description: service.description,
    enabled: service.enabled ? undefined : false,
    endpoint: service.providerEndpoint,
    hosts: service.hosts.length === 0 ? undefined : [...service.hosts],
    publicKeys: service.publicKeys.length === 0 ? undefined : keys(service),
  });
}

function keys(service: ServiceRecord): Record<string, string> {
  return Object.fromEntries(service.publicKeys.map(({ id, pem }) => [id, pem]));
}

function policyShapes(domain: DomainContent): DocumentShape['policies'] {
  const names = [...new Set(domain.policies.map(({ name }) => name))];
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, policyShape(domain.name, versionsOf(domain, name))]));
}

export function versionsOf(domain: DomainContent, name: string): readonly PolicyRecord[] {
  return domain.policies.filter((policy) => policy.name === name);
}

/** A list where there is only the active version `0`, else all versions and the name of the active one. */
export function policyShape(domain: string, versions: readonly PolicyRecord[]): PolicyShape {
  const lists = versions.map((policy) => ({
    version: policy.version,
    assertions: policy.assertions.map((assertion) => assertionShape(domain, assertion)),
  }));
  const [only] = lists;
  const [first] = versions;
  const isPlain =
    versions.length === 1 &&
    first?.version === '0' &&
    first.active &&
    first.description === undefined &&
    !first.caseSensitive;
  if (versions.some(({ caseSensitive }) => caseSensitive !== first?.caseSensitive)) {
    throw new ConflictError(`domain \`${domain}\` has a policy of which only some versions keep their case`);
  }
  if (isPlain && only !== undefined) return only.assertions;
  return definedOnly({
    description: first?.description,
    caseSensitive: first?.caseSensitive === true ? true : undefined,
    active: versions.find(({ active }) => active)?.version ?? null,
    versions: Object.fromEntries(lists.map(({ version, assertions }) => [version, assertions])),
  });
}

export function assertionShape(domain: string, assertion: AssertionRecord): AssertionShape {
  const { effect, action, resource, role } = assertion;
  const conditions = assertion.conditions && conditionsShape(assertion.conditions);
  if (conditions === undefined && assertion.conditions !== undefined) {
    throw new ConflictError(`domain \`${domain}\` has rules with conditions that documents cannot say`);
  }
  const entity = resource.slice(domain.length + 1);
  const isPlain = resource.startsWith(`${domain}:`) && entity !== '' && !entity.includes(':');
  const prefix = `${domain}:role.`;
  return {
    effect,
    action,
    resource: isPlain ? entity : resource,
    role: role.startsWith(prefix) ? role.slice(prefix.length) : role,
    ...(conditions !== undefined && { conditions }),
    ...(assertion.caseSensitive && { caseSensitive: true }),
  };
}

function named<Item extends { readonly name: string }, Shape>(
  items: readonly Item[],
  shapeOf: (item: Item) => Shape,
): Record<string, Shape> | undefined {
  return items.length === 0 ? undefined : Object.fromEntries(items.map((item) => [item.name, shapeOf(item)]));
}

type Defined<Values> = { [Key in keyof Values as undefined extends Values[Key] ? never : Key]: Values[Key] } & {
  [Key in keyof Values as undefined extends Values[Key] ? Key : never]?: Exclude<Values[Key], undefined>;
};

/** Without the members that are undefined. */
function definedOnly<Values extends object>(values: Values): Defined<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<Values>;
}
