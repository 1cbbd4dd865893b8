import { stringify } from 'yaml';
import { ConflictError } from '../errors.ts';
import { isSame, shapeOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type {
  AssertionRecord,
  DomainContent,
  DomainPart,
  GroupRecord,
  MemberRecord,
  PolicyRecord,
  RoleRecord,
  ServiceRecord,
} from '../model/records.ts';
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
 * for what documents cannot say: conditions of a newer version, or versions of one policy that differ in more than their assertions.
 */
export function exportDomain(domain: DomainContent): string {
  return stringify(documentOf(domain), { lineWidth: 120 });
}

/** The same as plain data, in the order of a document. */
export function documentOf(domain: DomainContent): DocumentShape {
  const parts = {
    limits: unlessEmpty(shapeOf(recordFields.limits, domain.limits)),
    quotas: domain.quotas,
    accounts: unlessEmpty(shapeOf(recordFields.accounts, domain.accounts)),
    roles: named(domain.roles, roleShape),
    groups: named(domain.groups, groupShape),
    policies: policyShapes(domain),
    services: named(domain.services, serviceShape),
  } satisfies Record<DomainPart, unknown>;
  return { domain: domain.name, ...shapeOf(recordFields.domain, domain), ...parts };
}

export function memberShape(member: MemberRecord): MemberShape {
  const shape = unlessEmpty(shapeOf(recordFields.member, member));
  return shape === undefined ? member.name : { name: member.name, ...shape };
}

function roleShape({ members, ...role }: RoleRecord): RoleShape {
  return { ...shapeOf(recordFields.role, role), ...(members.length > 0 && { members: members.map(memberShape) }) };
}

function groupShape({ members, ...group }: GroupRecord): GroupShape {
  return { ...shapeOf(recordFields.group, group), ...(members.length > 0 && { members: members.map(memberShape) }) };
}

export function serviceShape(service: ServiceRecord): ServiceShape {
  const { hosts, publicKeys } = service;
  return {
    ...shapeOf(recordFields.service, service),
    ...(hosts.length > 0 && { hosts: [...hosts] }),
    ...(publicKeys.length > 0 && { publicKeys: Object.fromEntries(publicKeys.map(({ id, pem }) => [id, pem])) }),
  };
}

function policyShapes(domain: DomainContent): DocumentShape['policies'] {
  const names = [...new Set(domain.policies.map(({ name }) => name))];
  return unlessEmpty(
    Object.fromEntries(names.map((name) => [name, policyShape(domain.name, versionsOf(domain, name))])),
  );
}

function versionsOf(domain: DomainContent, name: string): readonly PolicyRecord[] {
  return domain.policies.filter((policy) => policy.name === name);
}

/** A list where there is only the active version `0`, else all versions and the name of the active one. */
function policyShape(domain: string, versions: readonly PolicyRecord[]): PolicyShape {
  const [first] = versions;
  if (first === undefined || versions.some((policy) => !isSame(recordFields.policy, first, policy))) {
    throw new ConflictError(`domain \`${domain}\` has a policy whose versions differ in more than their assertions`);
  }
  const lists = versions.map(({ version, assertions }) => {
    return [version, assertions.map((assertion) => assertionShape(domain, assertion))] as const;
  });
  const [[version, only] = [], second] = lists;
  const shape = unlessEmpty(shapeOf(recordFields.policy, first));
  const isPlain = second === undefined && version === '0' && first.active && shape === undefined;
  if (isPlain && only !== undefined) return only;
  return {
    ...shape,
    active: versions.find(({ active }) => active)?.version ?? null,
    versions: Object.fromEntries(lists),
  };
}

export function assertionShape(domain: string, assertion: AssertionRecord): AssertionShape {
  const { effect, action, resource, role } = assertion;
  const conditions = assertion.conditions && conditionsShape(assertion.conditions);
  if (conditions === undefined && assertion.conditions !== undefined) {
    throw new ConflictError(`domain \`${domain}\` has assertions with conditions that documents cannot express`);
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
  shape: (item: Item) => Shape,
): Record<string, Shape> | undefined {
  return unlessEmpty(Object.fromEntries(items.map((item) => [item.name, shape(item)])));
}

function unlessEmpty<Shape extends object>(shape: Shape): Shape | undefined {
  return Object.keys(shape).length === 0 ? undefined : shape;
}
