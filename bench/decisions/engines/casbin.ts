/** `casbin`: deny overrides; all roles of a token in one request, cheapest comparison first. */
import { newEnforcer, newModelFromString } from 'casbin';
import type { Prepare } from '../engine.ts';

const modelText = (resourceMatch: string): string => `
[request_definition]
r = roles, act, obj
[policy_definition]
p = role, act, obj, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.act == p.act && ${resourceMatch} && holds(r.roles, p.role)
`;

export const prepareCasbin: Prepare = async (rules) => {
  if (rules.some(({ role, action }) => role.includes('*') || action.includes('*'))) return undefined;
  const wildcards = rules.some(({ resource }) => resource.includes('*'));
  const enforcer = await newEnforcer(
    newModelFromString(modelText(wildcards ? 'globMatch(r.obj, p.obj)' : 'r.obj == p.obj')),
  );
  await enforcer.addFunction('holds', (roles: ReadonlySet<string>, role: string) => roles.has(role));
  await enforcer.addPolicies(
    rules.map(({ effect, role, action, resource }) => [role, action, resource, effect === 'ALLOW' ? 'allow' : 'deny']),
  );
  return (roles, action, resource) => enforcer.enforceSync(new Set(roles), action, resource);
};
