import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName, PolicyName, RoleName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { ConflictError, InvalidRequestError, NotFoundError } from '../../errors.ts';
import { unchanged } from '../../model/domain-change.ts';
import { shapeOf } from '../../model/fields.ts';
import { recordFields } from '../../model/record-fields.ts';
import type { AssertionCount, PolicyRecord, StoredPolicy } from '../../model/records.ts';
import { JsonList } from '../../steps/json-steps.ts';
import { diffPoliciesInSteps } from '../../store/diff-domains.ts';
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
import type { DomainEdit } from '../judge-edit.ts';
import { assertionsIn } from '../quotas.ts';

/** A policy of a domain, by its name. */
export interface PolicyPath {
  readonly domain: DomainName;
  readonly name: PolicyName;
}

type Versions = readonly StoredPolicy[];

function existing(versions: Versions, path: PolicyPath): void {
  if (versions.length === 0) throw new NotFoundError(`policy \`${path.domain}:policy.${path.name}\` does not exist`);
}

/** The policy with every version as the API shows it; assertions carry their ids. Undefined when there is none. */
function policyView(versions: Versions, path: PolicyPath): Record<string, unknown> | undefined {
  const [first] = versions;
  if (first === undefined) return undefined;
  // Assertions without a wire form are refused at once, not when the answer is written.
  for (const { assertions } of versions) {
    for (const assertion of assertions) if (assertion.conditions !== undefined) assertionShape(path.domain, assertion);
  }
  const shapes = versions.map((policy) => [
    policy.version,
    new JsonList(policy.assertions, (assertion) => ({ id: assertion.id, ...assertionShape(path.domain, assertion) })),
  ]);
  return {
    name: path.name,
    ...shapeOf(recordFields.policy, first),
    active: versions.find(({ active }) => active)?.version ?? null,
    versions: Object.fromEntries(shapes),
  };
}

/** `change` makes the versions of the policy out of those that are stored; `roles` are those of the domain. */
function editOf(
  path: PolicyPath,
  change: (versions: Versions, roles: readonly RoleName[]) => readonly PolicyRecord[],
): DomainEdit {
  return {
    domain: path.domain,
    right: 'manage_policies',
    object: `policy.${path.name}`,
    read: async (reader, stored) => {
      const versions = await reader.policies(path.domain, path.name);
      return {
        view: policyView(versions, path),
        change: async () => {
          const roles = await reader.listNames(path.domain, 'role');
          const policies = await runInSlices(diffPoliciesInSteps(versions, change(versions, roles)));
          return { ...unchanged(stored), policies };
        },
      };
    },
  };
}

/** The policy of a body, in the form of documents. */
function read<Shape>(
  roles: readonly RoleName[],
  path: PolicyPath,
  body: Body<Shape>,
  wrap: (shape: Shape) => PolicyShape,
) {
  return body.read((reader, shape) => readPolicies(reader, path.domain, roles, { [path.name]: wrap(shape) }));
}

/** `PUT` of a whole policy: a list of rules, or versions of which one is active. */
export function putPolicy(path: PolicyPath, json: unknown): DomainEdit {
  const body = parseBody(policySchema, json);
  const versions = Array.isArray(body.shape) ? [body.shape] : Object.values(body.shape.versions);
  const wanted = versions.reduce((sum, assertions) => sum + assertions.length, 0);
  return {
    ...editOf(path, (_, roles) => read(roles, path, body, (shape) => shape)),
    assertionsAfter: (counts) => assertionsIn(counts.filter(({ policy }) => policy !== path.name)) + wanted,
  };
}

export function deletePolicy(path: PolicyPath): DomainEdit {
  return editOf(path, (versions) => {
    existing(versions, path);
    return [];
  });
}

/** `PUT` of one version: its rules. A new version is not active; the first of a policy is. */
export function putVersion(path: PolicyPath, version: string, json: unknown): DomainEdit {
  if (version === '__proto__') throw new InvalidRequestError('`__proto__` is not allowed as a name');
  const body = parseBody(assertionsSchema, json);
  const edit = editOf(path, (old, roles) => {
    const [first] = old;
    const fields = first && shapeOf(recordFields.policy, first);
    const wrap = (rules: AssertionShape[]) => ({ ...fields, active: null, versions: { [version]: rules } });
    const [fresh] = read(roles, path, body, wrap);
    if (fresh === undefined) return old;
    const active = old.length === 0 || old.some((policy) => policy.version === version && policy.active);
    const others = old.filter((policy) => policy.version !== version);
    return [...others, { ...fresh, active }];
  });
  const isOther = (one: AssertionCount) => one.policy !== path.name || one.version !== version;
  return { ...edit, assertionsAfter: (counts) => assertionsIn(counts.filter(isOther)) + body.shape.length };
}

export function deleteVersion(path: PolicyPath, version: string): DomainEdit {
  return editOf(path, (old) => {
    existing(old, path);
    const gone = versionOf(old, path, version);
    if (gone.active && old.length > 1) throw new ConflictError(`version \`${version}\` is the active one`);
    return old.filter((policy) => policy !== gone);
  });
}

/** Body of `PUT` of the active version. */
export const activeSchema = strict({ version: z.string().nullable() });

/** `PUT` of the active version; `null` switches the policy off. */
export function putActive(path: PolicyPath, body: unknown): DomainEdit {
  const { version } = parseBody(activeSchema, body).shape;
  return editOf(path, (old) => {
    existing(old, path);
    if (version !== null) versionOf(old, path, version);
    return old.map((policy) => ({ ...policy, active: policy.version === version }));
  });
}

/** `POST` of one more rule, at the end of a version. */
export function addAssertion(path: PolicyPath, version: string, json: unknown): DomainEdit {
  const body = parseBody(assertionSchema, json);
  return editOf(path, (old, roles) => {
    existing(old, path);
    const target = versionOf(old, path, version);
    const { caseSensitive } = target;
    const wrap = (rule: AssertionShape) => ({ caseSensitive, active: null, versions: { [version]: [rule] } });
    const [fresh] = read(roles, path, body, wrap);
    const assertions = [...target.assertions, ...(fresh?.assertions ?? [])];
    return swap(old, target, { ...target, assertions });
  });
}

export function deleteAssertion(path: PolicyPath, version: string, id: number): DomainEdit {
  return editOf(path, (old) => {
    existing(old, path);
    const target = old.find((policy) => policy.version === version);
    const assertions = target?.assertions.filter((assertion) => assertion.id !== id);
    if (target === undefined || assertions === undefined || assertions.length === target.assertions.length) {
      throw new NotFoundError(`policy \`${path.name}\` has no such assertion`);
    }
    return swap(old, target, { ...target, assertions });
  });
}

function versionOf(policies: Versions, path: PolicyPath, version: string): StoredPolicy {
  const found = policies.find((policy) => policy.version === version);
  if (found === undefined) throw new NotFoundError(`policy \`${path.name}\` has no version \`${version}\``);
  return found;
}

function swap(policies: Versions, old: StoredPolicy, fresh: PolicyRecord): PolicyRecord[] {
  return policies.map((policy) => (policy === old ? fresh : policy));
}
