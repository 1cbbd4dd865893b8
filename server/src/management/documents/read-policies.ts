import { type DomainName, foldAscii, parsePolicyName } from '@signet/policy-engine/names';
import { maxActionLength, patternProblem } from '@signet/policy-engine/policy';
import { InvalidRequestError } from '../../errors.ts';
import { recordFields } from '../../model/record-fields.ts';
import type { AssertionRecord, PolicyRecord } from '../../model/records.ts';
import { readConditions } from './conditions.ts';
import type { AssertionShape, DocumentShape, PolicyShape } from './document-schema.ts';
import type { FieldReader } from './field-reader.ts';
import { RoleNames } from './role-names.ts';
import type { FieldPath } from './yaml-source.ts';

interface Rules {
  readonly reader: FieldReader;
  readonly domain: DomainName;
  readonly roles: RoleNames;
}

const rolePattern = /^[a-zA-Z0-9_.*?-]+$/;
const actionPattern = /^[a-zA-Z0-9_.*?-]+$/;
const domainPattern = /^[a-zA-Z0-9_.*?-]+$/;
const versionGrammar = /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,63}$/;

/** The policies of a document, each version of each. A list stands for the one version `0`, which is active. */
export function readPolicies(
  reader: FieldReader,
  domain: DomainName,
  roles: readonly string[],
  policies: DocumentShape['policies'],
): PolicyRecord[] {
  const rules = { reader, domain, roles: new RoleNames(roles) };
  return reader
    .entries(['policies'], policies, parsePolicyName)
    .flatMap(({ name, value, path }) => versionsOf(rules, value, path).map((version) => ({ name, ...version })));
}

function versionsOf(rules: Rules, policy: PolicyShape, path: FieldPath): Omit<PolicyRecord, 'name'>[] {
  if (Array.isArray(policy)) {
    return [
      { version: '0', active: true, caseSensitive: false, assertions: readAssertions(rules, policy, path, false) },
    ];
  }
  const { reader } = rules;
  const { active, versions } = policy;
  const fields = reader.fields(path, recordFields.policy, policy);
  if (active !== null && !Object.hasOwn(versions, active)) {
    reader.complain([...path, 'active'], `there is no version \`${active}\``);
  }
  return Object.entries(versions).map(([version, assertions]) => {
    const at = [...path, 'versions', version];
    if (!versionGrammar.test(version)) reader.complain(at, 'is not a valid version', 'key');
    return {
      version,
      active: version === active,
      ...fields,
      assertions: readAssertions(rules, assertions, at, fields.caseSensitive),
    };
  });
}

function readAssertions(
  rules: Rules,
  assertions: readonly AssertionShape[],
  path: FieldPath,
  keepsCase: boolean,
): AssertionRecord[] {
  return assertions.flatMap((shape, index) => {
    const assertion = readAssertion(rules, shape, [...path, index], keepsCase);
    return assertion === undefined ? [] : [assertion];
  });
}

function readAssertion(
  rules: Rules,
  shape: AssertionShape,
  path: FieldPath,
  keepsCase: boolean,
): AssertionRecord | undefined {
  const { reader } = rules;
  const { conditions, caseSensitive = false } = shape;
  const fold = keepsCase || caseSensitive ? (text: string) => text : foldAscii;
  const at = (field: string) => () => [...path, field];
  const role = reader.read(at('role'), () => roleName(rules, shape.role));
  const action = reader.read(at('action'), () => fold(actionName(shape.action)));
  if (role === undefined || action === undefined) return undefined;
  const resource = reader.read(at('resource'), () => resourceName(rules.domain, action, fold(shape.resource)));
  if (resource === undefined) return undefined;
  if (conditions !== undefined && isAssumeRole(action)) {
    reader.complain(
      [...path, 'conditions'],
      'an assertion for `assume_role` cannot have any: the server decides it, and is not a host',
    );
  }
  return {
    effect: shape.effect ?? 'ALLOW',
    role,
    action,
    resource,
    caseSensitive,
    ...(conditions !== undefined && { conditions: readConditions(reader, conditions, [...path, 'conditions']) }),
  };
}

/** The full name. A name without wildcards must be a role of the document, a pattern must fit one: anything else is a slip. */
function roleName({ domain, roles }: Rules, text: string): string {
  const folded = foldAscii(text);
  const colon = folded.indexOf(':');
  if (colon >= 0 && folded.slice(0, colon) !== domain) {
    throw new InvalidRequestError(`a role of a policy belongs to its own domain \`${domain}\``);
  }
  const local = folded.slice(colon + 1);
  const short = local.startsWith('role.') ? local.slice('role.'.length) : local;
  if (!rolePattern.test(short)) throw new InvalidRequestError('is not a valid role name or pattern');
  checkPattern(short);
  if (!roles.has(short)) {
    throw new InvalidRequestError(`domain \`${domain}\` has no role \`${short}\`${roles.hint(short)}`);
  }
  return `${domain}:role.${short}`;
}

function actionName(text: string): string {
  if (!actionPattern.test(text)) throw new InvalidRequestError('is not a valid action or pattern');
  if (text.length > maxActionLength) {
    throw new InvalidRequestError(`must have at most ${maxActionLength} characters`);
  }
  checkPattern(text);
  return text;
}

/** Patterns are bounded as the policy engine bounds them when it compiles a bundle. */
function checkPattern(text: string): void {
  const problem = patternProblem(text);
  if (problem !== undefined) throw new InvalidRequestError(problem);
}

function isAssumeRole(action: string): boolean {
  return foldAscii(action) === 'assume_role';
}

/** The full name. Only `assume_role` reaches into other domains: it says which of their roles may be assumed. */
function resourceName(domain: DomainName, action: string, text: string): string {
  const colon = text.indexOf(':');
  checkPattern(text);
  if (colon < 0) return `${domain}:${text}`;
  const owner = foldAscii(text.slice(0, colon));
  const full = `${owner}${text.slice(colon)}`;
  if (owner === domain) return full;
  if (!isAssumeRole(action)) {
    throw new InvalidRequestError(`a policy of domain \`${domain}\` cannot name other domains`);
  }
  if (!domainPattern.test(owner)) throw new InvalidRequestError('does not name a domain before its colon');
  return full;
}
