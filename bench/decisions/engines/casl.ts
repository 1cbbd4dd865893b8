/** `@casl/ability`: one ability a role, the resource's name as its subject; names with wildcards as a condition. */
import { createMongoAbility, type MongoAbility, type RawRuleOf, subject } from '@casl/ability';
import type { Decide, Prepare } from '../engine.ts';
import type { Rule } from '../workload.ts';

type RawRule = RawRuleOf<MongoAbility>;

export const prepareCasl: Prepare = async (rules) => {
  if (rules.some(({ role, action }) => role.includes('*') || action.includes('*'))) return undefined;
  const wildcards = rules.some(({ resource }) => resource.includes('*'));
  const byRole = new Map<string, RawRule[]>();
  for (const rule of rules) {
    const raw = byRole.get(rule.role) ?? [];
    raw.push(wildcards ? conditionRule(rule) : subjectRule(rule));
    byRole.set(rule.role, raw);
  }
  const abilities = new Map([...byRole].map(([role, raw]) => [role, createMongoAbility<MongoAbility>(denyLast(raw))]));
  return decideWith(
    abilities,
    wildcards ? (resource) => subject('resource', { name: resource }) : (resource) => resource,
  );
};

/** The last rule that fits decides in CASL. */
function denyLast(rules: readonly RawRule[]): RawRule[] {
  return [...rules.filter(({ inverted }) => inverted !== true), ...rules.filter(({ inverted }) => inverted === true)];
}

function subjectRule({ effect, action, resource }: Rule): RawRule {
  return { action, subject: resource, inverted: effect === 'DENY' };
}

function conditionRule({ effect, action, resource }: Rule): RawRule {
  const pattern = resource.replaceAll('.', '\\.').replaceAll('*', '.*');
  return {
    action,
    subject: 'resource',
    inverted: effect === 'DENY',
    conditions: { name: { $regex: new RegExp(`^${pattern}$`) } },
  };
}

type Subject = Parameters<MongoAbility['relevantRuleFor']>[1];

function decideWith(abilities: ReadonlyMap<string, MongoAbility>, subjectOf: (resource: string) => Subject): Decide {
  return (roles, action, resource) => {
    const asked = subjectOf(resource);
    let allowed = false;
    for (const role of roles) {
      const rule = abilities.get(role)?.relevantRuleFor(action, asked);
      if (rule?.inverted) return false;
      if (rule) allowed = true;
    }
    return allowed;
  };
}
