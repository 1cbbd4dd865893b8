import { foldAscii } from '@signet/policy-engine/names';
import { compileConditions, matchesPattern } from '@signet/policy-engine/policy';
import type { DomainSnapshot } from '../snapshot/snapshot.ts';
import type { ConditionalAssertion } from './contexts.ts';
import type { Work } from './work.ts';

/** The assertions of a domain's active policies, ready to be asked for those that name given roles. */
interface DomainAssertions {
  /** Assertions for the roles, without repetitions; names are folded and lack the domain's own prefix. */
  assertionsFor(roles: readonly string[], work: Work): readonly ConditionalAssertion[];
}

/** A role is compared with a pattern. */
const stepsAPattern = 10;

const noAssertions: DomainAssertions = { assertionsFor: () => [] };

/** Indexes the assertions by role, so that a thousand members do not look at a thousand assertions each. */
export function domainAssertions(domain: DomainSnapshot | undefined): DomainAssertions {
  if (domain === undefined) return noAssertions;
  const exact = new Map<string, ConditionalAssertion[]>();
  const patterns: { readonly pattern: string; readonly assertion: ConditionalAssertion }[] = [];
  const prefix = `${domain.name}:`;
  for (const each of domain.policies.flatMap((policy) => (policy.active === false ? [] : policy.assertions))) {
    const resource = foldAscii(each.resource);
    if (!resource.startsWith(prefix)) continue;
    const assertion: ConditionalAssertion = {
      effect: each.effect ?? 'ALLOW',
      action: foldAscii(each.action),
      resource: resource.slice(prefix.length),
      conditions: compileConditions(each.conditions),
    };
    const role = withoutPrefix(withoutPrefix(each.role, prefix), 'role.');
    if (/[*?]/.test(role)) patterns.push({ pattern: role, assertion });
    else addTo(exact, role, assertion);
  }
  return {
    assertionsFor: (roles, work) => {
      work.spend(stepsAPattern * patterns.length * roles.length);
      const wide = patterns.filter(({ pattern }) => roles.some((role) => matchesPattern(pattern, role)));
      return [...roles.flatMap((role) => exact.get(role) ?? []), ...wide.map(({ assertion }) => assertion)];
    },
  };
}

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

function addTo(map: Map<string, ConditionalAssertion[]>, role: string, assertion: ConditionalAssertion): void {
  const assertions = map.get(role);
  if (assertions === undefined) map.set(role, [assertion]);
  else assertions.push(assertion);
}
