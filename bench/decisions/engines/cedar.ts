/** `@cedar-policy/cedar-wasm`: policies parsed once, the token's roles as parents of its principal; deny overrides. */
import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs';
import type { Prepare } from '../engine.ts';
import type { Rule } from '../workload.ts';

const policySetId = 'benchmark';

export const prepareCedar: Prepare = async (rules) => {
  if (rules.some(({ role, action }) => role.includes('*') || action.includes('*'))) return undefined;
  const answer = preparsePolicySet(policySetId, { staticPolicies: rules.map(policyOf).join('\n') });
  if (answer.type !== 'success') throw new Error(JSON.stringify(answer));
  const principal = { type: 'Caller', id: 'caller' };
  return (roles, action, resource) => {
    const target = { type: 'Resource', id: resource };
    const result = statefulIsAuthorized({
      principal,
      action: { type: 'Action', id: action },
      resource: target,
      context: {},
      preparsedPolicySetId: policySetId,
      entities: [
        { uid: principal, attrs: {}, parents: roles.map((id) => ({ type: 'Role', id })) },
        { uid: target, attrs: { name: resource }, parents: [] },
      ],
    });
    return result.type === 'success' && result.response.decision === 'allow';
  };
};

function policyOf({ effect, role, action, resource }: Rule): string {
  const word = effect === 'ALLOW' ? 'permit' : 'forbid';
  const who = `principal in Role::"${role}", action == Action::"${action}"`;
  return resource.includes('*')
    ? `${word}(${who}, resource) when { resource.name like "${resource}" };`
    : `${word}(${who}, resource == Resource::"${resource}");`;
}
