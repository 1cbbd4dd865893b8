import type { DomainName, PolicyName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { ConflictError, InvalidRequestError, NotFoundError } from '../../errors.ts';
import type { AssertionCount, DomainContent, DomainRecord, PolicyRecord } from '../../model/records.ts';
import { JsonList } from '../../steps/json-steps.ts';
import type { DomainEdit } from '../change-domain.ts';
import {
  type AssertionShape,
  assertionSchema,
  assertionsSchema,
  type PolicyShape,
  policySchema,
} from '../documents/document-schema.ts';
import { readPart } from '../documents/json-source.ts';
import { readPolicies } from '../documents/read-policies.ts';
import { strict } from '../documents/strict.ts';
import { assertionShape } from '../export-domain.ts';
import { noMembers } from '../member-scope.ts';
import { assertionsIn } from '../quotas.ts';

/** A policy of a domain, by its name. */
export interface PolicyPath {
  readonly domain: DomainName;
  readonly name: PolicyName;
}

function versions(content: DomainContent, { name }: PolicyPath): readonly PolicyRecord[] {
  return content.policies.filter((policy) => policy.name === name);
}

function existing(content: DomainContent, path: PolicyPath): readonly PolicyRecord[] {
  const found = versions(content, path);
  if (found.length === 0) throw new NotFoundError(`policy \`${path.domain}:policy.${path.name}\` does not exist`);
  return found;
}

/** The policy with every version as the API shows it; rules carry their ids. Undefined when there is none. */
export function policyView(content: DomainContent, path: PolicyPath): Record<string, unknown> | undefined {
  const found = versions(content, path);
  const [first] = found;
  if (first === undefined) return undefined;
  // What cannot be said is refused at once, not when the answer is written.
  for (const { assertions } of found) {
    for (const assertion of assertions) if (assertion.conditions !== undefined) assertionShape(path.domain, assertion);
  }
  const shapes = found.map((policy) => [
    policy.version,
    new JsonList(policy.assertions, (assertion) => ({
      ...('id' in assertion ? { id: assertion.id } : {}),
      ...assertionShape(path.domain, assertion),
    })),
  ]);
  return {
    name: path.name,
    ...(first.description === undefined ? {} : { description: first.description }),
    ...(first.caseSensitive && { caseSensitive: true }),
    active: found.find(({ active }) => active)?.version ?? null,
    versions: Object.fromEntries(shapes),
  };
}

function editOf(path: PolicyPath, apply: DomainEdit['apply']): DomainEdit {
  return {
    domain: path.domain,
    right: 'manage_policies',
    object: `policy.${path.name}`,
    members: noMembers,
    view: (content) => policyView(content, path),
    apply,
  };
}

function withVersions(content: DomainContent, path: PolicyPath, records: readonly PolicyRecord[]): DomainContent {
  const order = (policy: PolicyRecord) => `${policy.name} ${policy.version}`;
  const policies = [...content.policies.filter(({ name }) => name !== path.name), ...records];
  return { ...content, policies: policies.sort((a, b) => (order(a) < order(b) ? -1 : 1)) };
}

/** A form that a body may have, and how a policy in the form of documents is made of it. */
interface BodyForm<Shape> {
  readonly schema: z.ZodType<Shape>;
  readonly wrap: (shape: Shape) => PolicyShape;
}

/** Reads a body in its form. */
function read<Shape>(content: DomainContent, path: PolicyPath, body: unknown, { schema, wrap }: BodyForm<Shape>) {
  const roles = content.roles.map(({ name }) => name);
  return readPart(schema, body, (reader, shape) =>
    readPolicies(reader, path.domain, roles, { [path.name]: wrap(shape) }),
  );
}

/** `PUT` of a whole policy: a list of rules, or versions of which one is active. */
export function putPolicy(path: PolicyPath, body: unknown): DomainEdit {
  const edit = editOf(path, (content) => {
    return withVersions(content, path, read(content, path, body, { schema: policySchema, wrap: (shape) => shape }));
  });
  const wanted = Math.max(itemsIn(body), itemsOfVersions(body));
  const assertionsAfter = (counts: readonly AssertionCount[]) =>
    assertionsIn(counts.filter(({ policy }) => policy !== path.name)) + wanted;
  return { ...edit, assertionsAfter };
}

/** 0 of anything but an array: its reader says what is wrong with it. */
function itemsIn(body: unknown): number {
  return Array.isArray(body) ? body.length : 0;
}

function itemsOfVersions(body: unknown): number {
  const versions: unknown = Object(body).versions;
  if (typeof versions !== 'object' || versions === null) return 0;
  return Object.values(versions).reduce<number>((sum, list) => sum + itemsIn(list), 0);
}

export function deletePolicy(path: PolicyPath): DomainEdit {
  return editOf(path, (content) => {
    existing(content, path);
    return withVersions(content, path, []);
  });
}

/** `PUT` of one version: its rules. A new version is not active; the first of a policy is. */
export function putVersion(path: PolicyPath, version: string, body: unknown): DomainEdit {
  if (version === '__proto__') throw new InvalidRequestError('`__proto__` is not allowed as a name');
  const edit = editOf(path, (content) => {
    const old = versions(content, path);
    const [first] = old;
    const caseSensitive = first?.caseSensitive === true;
    const wrap = (rules: AssertionShape[]) => ({ caseSensitive, active: null, versions: { [version]: rules } });
    const [fresh] = read(content, path, body, { schema: assertionsSchema, wrap });
    if (fresh === undefined) return content;
    const active = old.length === 0 || old.some((policy) => policy.version === version && policy.active);
    const description = first?.description === undefined ? {} : { description: first.description };
    const others = old.filter((policy) => policy.version !== version);
    return withVersions(content, path, [...others, { ...fresh, ...description, active }]);
  });
  const assertionsAfter = (counts: readonly AssertionCount[]) =>
    assertionsIn(counts.filter((other) => other.policy !== path.name || other.version !== version)) + itemsIn(body);
  return { ...edit, assertionsAfter };
}

export function deleteVersion(path: PolicyPath, version: string): DomainEdit {
  return editOf(path, (content) => {
    const old = existing(content, path);
    const gone = versionOf(old, path, version);
    if (gone.active && old.length > 1) throw new ConflictError(`version \`${version}\` is the active one`);
    return withVersions(
      content,
      path,
      old.filter((policy) => policy !== gone),
    );
  });
}

/** Body of `PUT` of the active version. */
export const activeSchema = strict({ version: z.string().nullable() });

/** `PUT` of the active version; `null` switches the policy off. */
export function putActive(path: PolicyPath, body: unknown): DomainEdit {
  const { version } = readPart(activeSchema, body, (_reader, shape) => shape);
  return editOf(path, (content) => {
    const old = existing(content, path);
    if (version !== null) versionOf(old, path, version);
    return withVersions(
      content,
      path,
      old.map((policy) => ({ ...policy, active: policy.version === version })),
    );
  });
}

/** `POST` of one more rule, at the end of a version. */
export function addAssertion(path: PolicyPath, version: string, body: unknown): DomainEdit {
  return editOf(path, (content) => {
    const old = existing(content, path);
    const target = versionOf(old, path, version);
    const { caseSensitive } = target;
    const wrap = (rule: AssertionShape) => ({ caseSensitive, active: null, versions: { [version]: [rule] } });
    const [fresh] = read(content, path, body, { schema: assertionSchema, wrap });
    const assertions = [...target.assertions, ...(fresh?.assertions ?? [])];
    return withVersions(content, path, swap(old, target, { ...target, assertions }));
  });
}

export function deleteAssertion(path: PolicyPath, version: string, id: number): DomainEdit {
  return editOf(path, (content: DomainRecord) => {
    existing(content, path);
    const stored = content.policies.filter(({ name }) => name === path.name);
    const target = stored.find((policy) => policy.version === version);
    const assertions = target?.assertions.filter((assertion) => assertion.id !== id);
    if (target === undefined || assertions === undefined || assertions.length === target.assertions.length) {
      throw new NotFoundError(`policy \`${path.name}\` has no such rule`);
    }
    return withVersions(content, path, swap(stored, target, { ...target, assertions }));
  });
}

function versionOf(policies: readonly PolicyRecord[], path: PolicyPath, version: string): PolicyRecord {
  const found = policies.find((policy) => policy.version === version);
  if (found === undefined) throw new NotFoundError(`policy \`${path.name}\` has no version \`${version}\``);
  return found;
}

function swap(policies: readonly PolicyRecord[], old: PolicyRecord, fresh: PolicyRecord): PolicyRecord[] {
  return policies.map((policy) => (policy === old ? fresh : policy));
}
