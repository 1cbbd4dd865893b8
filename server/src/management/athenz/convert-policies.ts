import { foldAscii } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import type { AssertionShape, DocumentShape, PolicyShape } from '../documents/document-schema.ts';
import { RoleNames } from '../documents/role-names.ts';
import type { AthenzAssertion, AthenzPolicy } from './export-shape.ts';
import type { Findings } from './findings.ts';
import { reportLeftOver } from './left-over.ts';
import { localName, mappingOf } from './local-name.ts';

interface Rules {
  readonly findings: Findings;
  readonly domain: string;
  /** The short names, and the full ones, with which Athenz compares patterns. */
  readonly roles: { readonly names: RoleNames; readonly full: RoleNames };
}

/** `policies`, the name of the policy, and the place of the assertion in its version. */
type AssertionPath = readonly [kind: string, policy: string, index: number];

/** The policies of a domain with these roles: the versions of each under its name. */
export function convertPolicies(
  findings: Findings,
  domain: string,
  roles: readonly string[],
  policies: readonly AthenzPolicy[] | null | undefined,
): NonNullable<DocumentShape['policies']> {
  const names = roles.map(foldAscii);
  const full = names.map((name) => `${foldAscii(domain)}:role.${name}`);
  const rules = { findings, domain, roles: { names: new RoleNames(names), full: new RoleNames(full) } };
  const versions = new Map<string, AthenzPolicy[]>();
  for (const policy of policies ?? []) {
    const name = localName(findings, `${domain}:policy.`, policy.name, 'policies');
    const list = versions.get(name) ?? [];
    versions.set(name, list);
    list.push(policy);
  }
  const policiesByName = [...versions].map(([name, list]) => [name, convertPolicy(rules, name, list)] as const);
  return mappingOf(findings, ['policies'], policiesByName);
}

function convertPolicy(rules: Rules, name: string, versions: readonly AthenzPolicy[]): PolicyShape {
  const { findings } = rules;
  const active = versions.filter((policy) => policy.active !== false);
  const [first = versions[0], second] = active;
  if (second !== undefined) findings.problem(['policies', name], 'has more than one active version');
  if (new Set(versions.map(versionOf)).size < versions.length) {
    findings.problem(['policies', name], 'has a version twice');
  }
  for (const policy of versions) {
    reportLeftOver(findings, 'policies', name, policy);
    if (policy.active === false) {
      findings.notice('policy versions are not active and have no effect', `${name} ${versionOf(policy)}`);
    }
    if ((policy.description ?? '') !== (first?.description ?? '')) {
      findings.notice('descriptions of versions that are not active are not imported', `${name} ${versionOf(policy)}`);
    }
  }
  const lists = versions.map((policy) => [versionOf(policy), convertAssertions(rules, name, policy)] as const);
  const [[version, only] = [], another] = lists;
  const description = first?.description ?? '';
  const isPlain = another === undefined && version === '0' && active.length === 1 && description === '';
  if (isPlain && only !== undefined) return only;
  return {
    ...(description !== '' && { description }),
    active: active[0] === undefined ? null : versionOf(active[0]),
    versions: mappingOf(findings, ['policies', name, 'versions'], lists),
  };
}

function versionOf({ version }: AthenzPolicy): string {
  return version === undefined || version === null || version === '' ? '0' : version;
}

function convertAssertions(rules: Rules, name: string, policy: AthenzPolicy): AssertionShape[] {
  return (policy.assertions ?? []).flatMap((assertion, index) => {
    const path = ['policies', name, index] as const;
    reportLeftOver(rules.findings, 'assertions', name, assertion);
    const role = roleOf(rules, path, assertion);
    const resources = resourcesOf(rules, path, assertion);
    if (role === undefined || resources.length === 0) return [];
    reportMeaning(rules, name, assertion);
    const conditions = conditionsOf(assertion);
    return resources.map((resource) => ({
      // Default ALLOW, as in Athenz.
      effect: assertion.effect ?? 'ALLOW',
      action: assertion.action,
      resource,
      role,
      ...(conditions.length > 0 && { conditions }),
      ...((policy.caseSensitive === true || assertion.caseSensitive === true) && { caseSensitive: true }),
    }));
  });
}

/** The short name, or the pattern; undefined where no role of the domain is called so: the assertion never matches. */
function roleOf(
  { findings, domain, roles }: Rules,
  path: AssertionPath,
  { role }: AthenzAssertion,
): string | undefined {
  const folded = foldAscii(role);
  const prefix = `${foldAscii(domain)}:role.`;
  try {
    if (folded.startsWith(prefix) && roles.names.has(folded.slice(prefix.length))) return folded.slice(prefix.length);
    // Full names are compared there: such a pattern may fit roles, and also those that come later.
    if (!folded.startsWith(prefix) && roles.full.has(folded)) {
      if (folded === '*') return folded;
      findings.problem([...path, 'role'], `must begin with \`${prefix}\``);
    }
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    findings.problem([...path, 'role'], error.message);
  }
  findings.notice('assertions name a role that the domain does not have: they match nothing and are skipped', path[1]);
  return undefined;
}

/** Resources in the form of a document; none where it is about other domains, and never matches. Only `assume_role` reaches into these. */
function resourcesOf(
  { findings, domain }: Rules,
  path: AssertionPath,
  { action, resource }: AthenzAssertion,
): string[] {
  const owner = ownerOf(resource);
  if (owner === undefined) {
    findings.problem([...path, 'resource'], 'must begin with a domain and a colon');
    return [];
  }
  if (owner === foldAscii(domain) || isAssumeRole(action)) return [resource];
  // The `*` is any text, and so may reach over the colon of the domain and over later ones.
  const entity = resource.slice(resource.indexOf(':') + 1);
  if (owner === '*') return entity === '*' ? [entity] : [`${domain}:${entity}`, `${domain}:*:${entity}`];
  if (/[*?]/.test(owner)) {
    findings.problem([...path, 'resource'], 'must begin with a domain, or with `*:`');
    return [];
  }
  findings.notice('assertions are about resources of other domains: they match nothing and are skipped', path[1]);
  return [];
}

/** Reports assertions with another meaning here. */
function reportMeaning({ findings, domain }: Rules, name: string, assertion: AthenzAssertion): void {
  if (conditionsOf(assertion).length > 0) {
    findings.notice(
      'assertions have conditions: they are enforced here, while servers and engines of Athenz ignore them',
      name,
    );
  }
  if (!isAssumeRole(assertion.action)) return;
  if (assertion.effect === 'DENY') {
    findings.notice(
      "DENY assertions for `assume_role` give no role here and remove none, and Athenz's access checks take them for ALLOW",
      name,
    );
  }
  if ([foldAscii(domain), '*'].includes(ownerOf(assertion.resource) ?? '')) {
    findings.notice(
      'assertions for `assume_role` are about roles of the domain itself: they count in access checks here, and in Athenz in tokens only',
      name,
    );
  }
}

function ownerOf(resource: string): string | undefined {
  const colon = resource.indexOf(':');
  return colon < 0 ? undefined : foldAscii(resource.slice(0, colon));
}

function isAssumeRole(action: string): boolean {
  return foldAscii(action) === 'assume_role';
}

/** Conditions in the form of documents: keys are in lower case, and a value alone is one that must be equal. */
function conditionsOf({ conditions }: AthenzAssertion): NonNullable<AssertionShape['conditions']> {
  const sets = (conditions?.conditionsList ?? []).map(({ conditionsMap }) =>
    Object.fromEntries(
      Object.entries(conditionsMap ?? {}).map(([key, { operator, value }]) => [
        foldAscii(key),
        operator === undefined || operator === null || operator === 'EQUALS' ? value : { operator, value },
      ]),
    ),
  );
  // Invalid conditions are refused with the document.
  return sets as NonNullable<AssertionShape['conditions']>;
}
