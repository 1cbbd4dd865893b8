import { foldAscii } from '@signet/policy-engine/names';
import { matchesPattern } from '@signet/policy-engine/policy';
import type { WireAssertion } from '@signet/policy-engine/wire';
import type { DomainSnapshot } from '../snapshot/snapshot.ts';
import type { Rule } from './rule-difference.ts';

/** The rules of a domain's active policies, ready to be asked for those that speak of given roles. */
export interface DomainRules {
  /** Without repetitions; names are folded and lack the domain's own prefix. */
  rulesFor(roles: readonly string[]): readonly Rule[];
}

const noRules: DomainRules = { rulesFor: () => [] };

/** Indexes the rules by role, so that a thousand members do not look at a thousand rules each. */
export function domainRules(domain: DomainSnapshot | undefined): DomainRules {
  if (domain === undefined) return noRules;
  const exact = new Map<string, Rule[]>();
  const patterns: { readonly pattern: string; readonly rule: Rule }[] = [];
  const prefix = `${domain.name}:`;
  for (const assertion of domain.policies.flatMap((policy) => (policy.active === false ? [] : policy.assertions))) {
    const resource = foldAscii(assertion.resource);
    if (!countsHere(assertion) || !resource.startsWith(prefix)) continue;
    const rule = {
      effect: assertion.effect ?? 'ALLOW',
      action: foldAscii(assertion.action),
      resource: resource.slice(prefix.length),
    };
    const role = withoutPrefix(withoutPrefix(assertion.role, prefix), 'role.');
    if (/[*?]/.test(role)) patterns.push({ pattern: role, rule });
    else addTo(exact, role, rule);
  }
  return {
    rulesFor: (roles) => {
      const wide = patterns.filter(({ pattern }) => roles.some((role) => matchesPattern(pattern, role)));
      return [...roles.flatMap((role) => exact.get(role) ?? []), ...wide.map(({ rule }) => rule)];
    },
  };
}

/** As in the server's own checks, which know no host: a conditional ALLOW does not count, a conditional DENY does. */
function countsHere({ effect, conditions }: WireAssertion): boolean {
  return effect === 'DENY' || (conditions?.conditionsList.length ?? 0) === 0;
}

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

function addTo(map: Map<string, Rule[]>, role: string, rule: Rule): void {
  const rules = map.get(role);
  if (rules === undefined) map.set(role, [rule]);
  else rules.push(rule);
}
