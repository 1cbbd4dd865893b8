import type { AssertionInput, DecisionContext, PolicyInput, Status } from '@signet/policy-engine';
import type { ConditionOperator } from '@signet/policy-engine/policy';
import { conditionHolds } from '#support/condition-oracle';
import { conditionValues } from '#support/condition-values';

/*
 * The decision written down as plainly as possible: no index, no sharing with the engine, every assertion looked at every
 * time. Slow and obviously right; the engine must agree with it.
 */

export interface ReferenceRequest {
  domain: string;
  roles: readonly string[];
  action: string;
  resource: string;
  context?: DecisionContext;
}

export interface ReferenceAnswer {
  status: Status;
  policy?: string;
  assertion?: AssertionInput;
}

/** `*` any run, `?` one code point: a table over all prefixes of both texts. */
export function referenceMatches(pattern: string, text: string): boolean {
  const wanted = [...pattern];
  const given = [...text];
  let row = [true, ...given.map(() => false)];
  for (const symbol of wanted) {
    const next = [symbol === '*' && row[0] === true];
    for (let at = 1; at <= given.length; at += 1) {
      const fits = symbol === '?' || symbol === given[at - 1];
      next.push(symbol === '*' ? row[at] === true || next[at - 1] === true : fits && row[at - 1] === true);
    }
    row = next;
  }
  return row[given.length] === true;
}

export function referenceFold(text: string): string {
  return [...text]
    .map((character) => (character >= 'A' && character <= 'Z' ? character.toLowerCase() : character))
    .join('');
}

/** The domain before the first colon, and what follows. */
function split(text: string): { domain: string | undefined; rest: string } {
  const at = text.indexOf(':');
  return at < 0 ? { domain: undefined, rest: text } : { domain: text.slice(0, at), rest: text.slice(at + 1) };
}

function own(text: string, domain: string): string | undefined {
  const parts = split(text);
  return parts.domain === undefined || parts.domain === domain ? parts.rest : undefined;
}

function hasWildcard(text: string): boolean {
  return /[*?]/.test(text);
}

const knownOperators = new Map(
  Object.keys(conditionValues).map((name) => [referenceFold(name), name as ConditionOperator]),
);
const knownKeys = ['enforcementstate', 'instances', 'scopeall', 'scopeaws', 'scopeazure', 'scopegcp', 'scopeonprem'];

function conditionsCount(assertion: AssertionInput, context: DecisionContext | undefined): boolean {
  const denies = assertion.effect === 'DENY';
  const sets = assertion.conditions?.conditionsList ?? [];
  if (sets.length === 0) return true;
  const isUnknown = sets.some(({ conditionsMap }) =>
    Object.entries(conditionsMap).some(
      ([key, { operator }]) => !knownKeys.includes(referenceFold(key)) || !knownOperators.has(referenceFold(operator)),
    ),
  );
  if (isUnknown) return denies;
  return sets.some(({ conditionsMap }) =>
    Object.entries(conditionsMap).every(([key, { operator, value }]) => {
      const entry = Object.entries(context ?? {}).find(([name]) => name === referenceFold(key));
      const known = knownOperators.get(referenceFold(operator));
      if (entry === undefined || entry[1] === undefined || known === undefined) return denies;
      return conditionHolds(known, value, entry[1]) ?? denies;
    }),
  );
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

interface Rule {
  policy: string;
  assertion: AssertionInput;
  role: string;
  resource: string;
}

/** The assertions of one effect that can match in the domain at all. */
function rulesOf(policies: readonly PolicyInput[], domain: string, effect: 'ALLOW' | 'DENY'): Rule[] {
  return policies.flatMap(({ name, assertions }) =>
    assertions.flatMap((assertion) => {
      const role = own(assertion.role, domain)?.replace(/^role\./, '');
      const resource = own(referenceFold(assertion.resource), domain);
      const isOurs = role !== undefined && resource !== undefined && (assertion.effect ?? 'ALLOW') === effect;
      return isOurs ? [{ policy: name, assertion, role, resource }] : [];
    }),
  );
}

/** Step of the search: an effect, and roles as names or as patterns. */
function search(
  policies: readonly PolicyInput[],
  request: ReferenceRequest,
  effect: 'ALLOW' | 'DENY',
  withPatterns: boolean,
): ReferenceAnswer | undefined {
  const entity = own(referenceFold(request.resource), request.domain) ?? '';
  const rules = rulesOf(policies, request.domain, effect).filter(({ role }) => hasWildcard(role) === withPatterns);
  // Pattern roles are searched in the order of their texts; within one, and for plain roles, the order of the policies.
  const ordered = withPatterns ? rules.toSorted((a, b) => compareTexts(a.role, b.role)) : rules;
  for (const held of request.roles) {
    for (const { policy, assertion, role, resource } of ordered) {
      const isHeld = withPatterns ? referenceMatches(role, held) : role === held;
      const isMeant =
        referenceMatches(referenceFold(assertion.action), referenceFold(request.action)) &&
        referenceMatches(resource, entity);
      if (isHeld && isMeant && conditionsCount(assertion, request.context))
        return { status: effect, policy, assertion };
    }
  }
  return undefined;
}

export function referenceDecide(
  domains: Readonly<Record<string, readonly PolicyInput[]>>,
  request: ReferenceRequest,
): ReferenceAnswer {
  if (request.roles.length === 0 || request.domain === '') return { status: 'DENY_TOKEN_INVALID' };
  if (request.action === '' || request.resource === '') return { status: 'DENY_INVALID_PARAMETERS' };
  if (own(referenceFold(request.resource), request.domain) === undefined) return { status: 'DENY_DOMAIN_MISMATCH' };
  const found = Object.entries(domains).find(([name]) => name === request.domain);
  if (found === undefined) return { status: 'DENY_DOMAIN_NOT_FOUND' };
  const [, policies] = found;
  if (policies.every(({ assertions }) => assertions.length === 0)) return { status: 'DENY_DOMAIN_EMPTY' };
  return (
    search(policies, request, 'DENY', false) ??
    search(policies, request, 'DENY', true) ??
    search(policies, request, 'ALLOW', false) ??
    search(policies, request, 'ALLOW', true) ?? { status: 'DENY_NO_MATCH' }
  );
}
