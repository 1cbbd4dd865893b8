/** Hand-coded for exact names: a map of maps, and no more. */
import type { Prepare } from '../engine.ts';

type Actions = Map<string, Map<string, boolean>>;

export const prepareHandMap: Prepare = async (rules) => {
  if (rules.some(({ role, action, resource }) => `${role}${action}${resource}`.includes('*'))) return undefined;
  const roles = new Map<string, Actions>();
  for (const { effect, role, action, resource } of rules) {
    const actions: Actions = roles.get(role) ?? new Map();
    const resources = actions.get(action) ?? new Map<string, boolean>();
    resources.set(resource, effect === 'ALLOW' && resources.get(resource) !== false);
    actions.set(action, resources);
    roles.set(role, actions);
  }
  return (names, action, resource) => {
    let allowed = false;
    for (const name of names) {
      const answer = roles.get(name)?.get(action)?.get(resource);
      if (answer === false) return false;
      if (answer === true) allowed = true;
    }
    return allowed;
  };
};
