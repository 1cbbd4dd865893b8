import { foldAscii } from '@signet/policy-engine/names';
import { compileConditions, matchesPattern } from '@signet/policy-engine/policy';
import type { DomainSnapshot } from '../snapshot/snapshot.ts';
import type { ConditionalRule } from './contexts.ts';
import type { Work } from './work.ts';

/** The rules of a domain's active policies, ready to be asked for those that name given roles. */
interface DomainRules {
  /** Without repetitions; names are folded and lack the domain's own prefix. */
  rulesFor(roles: readonly string[], work: Work): readonly ConditionalRule[];
}

/** A role is compared with a pattern. */
const stepsAPattern = 10;

const noRules: DomainRules = { rulesFor: () => [] };

/** Indexes the rules by role, so that a thousand members do not look at a thousand rules each. */
export function domainRules(domain: DomainSnapshot | undefined): DomainRules {
  if (domain === undefined) return noRules;
  const exact = new Map<string, ConditionalRule[]>();
  const patterns: { readonly pattern: string; readonly rule: ConditionalRule }[] = [];
  const prefix = `${domain.name}:`;
  for (const assertion of domain.policies.flatMap((policy) => (policy.active === false ? [] : policy.assertions))) {
    const resource = foldAscii(assertion.resource);
    if (!resource.startsWith(prefix)) continue;
    const rule: ConditionalRule = {
      effect: assertion.effect ?? 'ALLOW',
      action: foldAscii(assertion.action),
      resource: resource.slice(prefix.length),
      conditions: compileConditions(assertion.conditions),
    };
    const role = withoutPrefix(withoutPrefix(assertion.role, prefix), 'role.');
    if (/[*?]/.test(role)) patterns.push({ pattern: role, rule });
    else addTo(exact, role, rule);
  }
  return {
    rulesFor: (roles, work) => {
      work.spend(stepsAPattern * patterns.length * roles.length);
      const wide = patterns.filter(({ pattern }) => roles.some((role) => matchesPattern(pattern, role)));
      return [...roles.flatMap((role) => exact.get(role) ?? []), ...wide.map(({ rule }) => rule)];
    },
  };
}

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

function addTo(map: Map<string, ConditionalRule[]>, role: string, rule: ConditionalRule): void {
  const rules = map.get(role);
  if (rules === undefined) map.set(role, [rule]);
  else rules.push(rule);
}
