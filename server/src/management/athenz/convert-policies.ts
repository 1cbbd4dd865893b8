import { foldAscii } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import type { AssertionShape, DocumentShape, PolicyShape } from '../documents/document-schema.ts';
import { RoleNames } from '../documents/role-names.ts';
import type { AthenzAssertion, AthenzPolicy } from './export-shape.ts';
import type { Findings } from './findings.ts';
import { reportLeftOver } from './left-over.ts';
import { localName } from './local-name.ts';

interface Rules {
  readonly findings: Findings;
  readonly domain: string;
  readonly roles: RoleNames;
}

/** The policies of a domain with these roles: the versions of each under its name. */
export function convertPolicies(
  findings: Findings,
  domain: string,
  roles: readonly string[],
  policies: readonly AthenzPolicy[] | null | undefined,
): NonNullable<DocumentShape['policies']> {
  const rules = { findings, domain, roles: new RoleNames(roles.map(foldAscii)) };
  const versions = new Map<string, AthenzPolicy[]>();
  for (const policy of policies ?? []) {
    const name = localName(findings, `${domain}:policy.`, policy.name, 'policies');
    versions.set(name, [...(versions.get(name) ?? []), policy]);
  }
  return Object.fromEntries([...versions].map(([name, list]) => [name, convertPolicy(rules, name, list)]));
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
      findings.notice('policy versions are not active and decide nothing', `${name} ${versionOf(policy)}`);
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
    versions: Object.fromEntries(lists),
  };
}

function versionOf({ version }: AthenzPolicy): string {
  return version === undefined || version === null || version === '' ? '0' : version;
}

function convertAssertions(rules: Rules, name: string, policy: AthenzPolicy): AssertionShape[] {
  return (policy.assertions ?? []).flatMap((assertion) => {
    reportLeftOver(rules.findings, 'assertions', name, assertion);
    const role = roleOf(rules, name, assertion);
    if (role === undefined || isAboutOthers(rules, name, assertion)) return [];
    reportMeaning(rules, name, assertion);
    const { action, resource, effect } = assertion;
    const conditions = conditionsOf(assertion);
    return [
      {
        // Absent means ALLOW to Athenz.
        effect: effect ?? 'ALLOW',
        action,
        resource,
        role,
        ...(conditions.length > 0 && { conditions }),
        ...((policy.caseSensitive === true || assertion.caseSensitive === true) && { caseSensitive: true }),
      },
    ];
  });
}

/** The short name, or the pattern; undefined where no role of the domain is called so: the assertion never matches. */
function roleOf({ findings, domain, roles }: Rules, name: string, { role }: AthenzAssertion): string | undefined {
  const folded = foldAscii(role);
  const prefix = `${foldAscii(domain)}:role.`;
  const isShort = !folded.includes(':');
  const short = isShort ? folded : folded.slice(prefix.length);
  if ((isShort || folded.startsWith(prefix)) && hasRole(findings, roles, name, short)) return short;
  findings.notice('assertions name a role that the domain does not have: they match nothing and are left out', name);
  return undefined;
}

function hasRole(findings: Findings, roles: RoleNames, name: string, short: string): boolean {
  try {
    return roles.has(short);
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    findings.problem(['policies', name], error.message);
    return false;
  }
}

/** Only `assume_role` reaches into other domains: what else names one never matches there. */
function isAboutOthers({ findings, domain }: Rules, name: string, { action, resource }: AthenzAssertion): boolean {
  const owner = ownerOf(resource);
  if (owner === undefined || owner === foldAscii(domain) || /[*?]/.test(owner) || isAssumeRole(action)) return false;
  findings.notice('assertions are about resources of other domains: they match nothing and are left out', name);
  return true;
}

/** What means something else here. */
function reportMeaning({ findings, domain }: Rules, name: string, assertion: AthenzAssertion): void {
  if (conditionsOf(assertion).length > 0) {
    findings.notice("assertions have conditions: they count here, and Athenz's servers and engines ignore them", name);
  }
  if (!isAssumeRole(assertion.action)) return;
  if (assertion.effect === 'DENY') {
    findings.notice(
      "DENY assertions for `assume_role` deny here, and Athenz's access checks take them for ALLOW",
      name,
    );
  }
  const owner = ownerOf(assertion.resource);
  if (owner === undefined || owner === foldAscii(domain)) {
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

/** As documents have them: keys are in small letters, and a value alone is one that must be equal. */
function conditionsOf({ conditions }: AthenzAssertion): NonNullable<AssertionShape['conditions']> {
  const sets = (conditions?.conditionsList ?? []).map(({ conditionsMap }) =>
    Object.fromEntries(
      Object.entries(conditionsMap ?? {}).map(([key, { operator, value }]) => [
        foldAscii(key),
        operator === undefined || operator === null || operator === 'EQUALS' ? value : { operator, value },
      ]),
    ),
  );
  // What is no condition of ours is refused with the document.
  return sets as NonNullable<AssertionShape['conditions']>;
}
