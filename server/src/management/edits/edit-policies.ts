import type { DomainName, PolicyName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { ConflictError, InvalidRequestError, NotFoundError } from '../../errors.ts';
import { shapeOf } from '../../model/fields.ts';
import { recordFields } from '../../model/record-fields.ts';
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
import { type Body, parseBody } from '../documents/json-source.ts';
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
      ...('id' in assertion && { id: assertion.id }),
      ...assertionShape(path.domain, assertion),
    })),
  ]);
  return {
    name: path.name,
    ...shapeOf(recordFields.policy, first),
    active: found.find(({ active }) => active)?.version ?? null,
    versions: Object.fromEntries(shapes),
  };
}

function editOf(path: PolicyPath, apply: DomainEdit['apply']): DomainEdit {
  return {
    domain: path.domain,
    right: 'manage_policies',
    object: `policy.${path.name}`,
    scope: { ...noMembers, services: false },
    view: (content) => policyView(content, path),
    apply,
  };
}

function withVersions(content: DomainContent, path: PolicyPath, records: readonly PolicyRecord[]): DomainContent {
  const order = (policy: PolicyRecord) => `${policy.name} ${policy.version}`;
  const policies = [...content.policies.filter(({ name }) => name !== path.name), ...records];
  return { ...content, policies: policies.sort((a, b) => (order(a) < order(b) ? -1 : 1)) };
}

/** The policy of a body, in the form of documents. */
function read<Shape>(content: DomainContent, path: PolicyPath, body: Body<Shape>, wrap: (shape: Shape) => PolicyShape) {
  const roles = content.roles.map(({ name }) => name);
  return body.read((reader, shape) => readPolicies(reader, path.domain, roles, { [path.name]: wrap(shape) }));
}

/** `PUT` of a whole policy: a list of rules, or versions of which one is active. */
export function putPolicy(path: PolicyPath, json: unknown): DomainEdit {
  const body = parseBody(policySchema, json);
  const versions = Array.isArray(body.shape) ? [body.shape] : Object.values(body.shape.versions);
  const wanted = versions.reduce((sum, assertions) => sum + assertions.length, 0);
  return {
    ...editOf(path, (content) =>
      withVersions(
        content,
        path,
        read(content, path, body, (shape) => shape),
      ),
    ),
    assertionsAfter: (counts) => assertionsIn(counts.filter(({ policy }) => policy !== path.name)) + wanted,
  };
}

export function deletePolicy(path: PolicyPath): DomainEdit {
  return editOf(path, (content) => {
    existing(content, path);
    return withVersions(content, path, []);
  });
}

/** `PUT` of one version: its rules. A new version is not active; the first of a policy is. */
export function putVersion(path: PolicyPath, version: string, json: unknown): DomainEdit {
  if (version === '__proto__') throw new InvalidRequestError('`__proto__` is not allowed as a name');
  const body = parseBody(assertionsSchema, json);
  const edit = editOf(path, (content) => {
    const old = versions(content, path);
    const [first] = old;
    const fields = first && shapeOf(recordFields.policy, first);
    const wrap = (rules: AssertionShape[]) => ({ ...fields, active: null, versions: { [version]: rules } });
    const [fresh] = read(content, path, body, wrap);
    if (fresh === undefined) return content;
    const active = old.length === 0 || old.some((policy) => policy.version === version && policy.active);
    const others = old.filter((policy) => policy.version !== version);
    return withVersions(content, path, [...others, { ...fresh, active }]);
  });
  const isOther = (one: AssertionCount) => one.policy !== path.name || one.version !== version;
  return { ...edit, assertionsAfter: (counts) => assertionsIn(counts.filter(isOther)) + body.shape.length };
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
  const { version } = parseBody(activeSchema, body).shape;
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
export function addAssertion(path: PolicyPath, version: string, json: unknown): DomainEdit {
  const body = parseBody(assertionSchema, json);
  return editOf(path, (content) => {
    const old = existing(content, path);
    const target = versionOf(old, path, version);
    const { caseSensitive } = target;
    const wrap = (rule: AssertionShape) => ({ caseSensitive, active: null, versions: { [version]: [rule] } });
    const [fresh] = read(content, path, body, wrap);
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
      throw new NotFoundError(`policy \`${path.name}\` has no such assertion`);
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
