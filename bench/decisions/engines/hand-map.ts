/** Hand-coded for exact names and prefixes: a map of maps of maps, for prefixes one for each of their lengths, and no more. */
import type { Prepare } from '../engine.ts';

/** Values under exact names and under prefixes. */
interface Names<V> {
  readonly exact: Map<string, V>;
  readonly prefixes: { readonly length: number; readonly values: Map<string, V> }[];
}

type Resources = Names<boolean>;
type Actions = Names<Resources>;
type Roles = Names<Actions>;

export const prepareHandMap: Prepare = async (rules) => {
  if (rules.some((rule) => [rule.role, rule.action, rule.resource].some(isInner))) return undefined;
  const roles: Roles = names();
  for (const { effect, role, action, resource } of rules) {
    const resources = placeOf<Resources>(placeOf<Actions>(roles, role, names), action, names);
    const values = valuesFor(resources, resource);
    const key = withoutStar(resource);
    values.set(key, effect === 'ALLOW' && values.get(key) !== false);
  }
  return (held, action, resource) => {
    let allowed = false;
    for (const role of held) {
      const answer = inRoles(roles, role, action, resource);
      if (answer === false) return false;
      if (answer === true) allowed = true;
    }
    return allowed;
  };
};

function isInner(text: string): boolean {
  const star = text.indexOf('*');
  return star >= 0 && star < text.length - 1;
}

function withoutStar(text: string): string {
  return text.endsWith('*') ? text.slice(0, -1) : text;
}

function names<V>(): Names<V> {
  return { exact: new Map(), prefixes: [] };
}

function valuesFor<V>({ exact, prefixes }: Names<V>, text: string): Map<string, V> {
  if (!text.endsWith('*')) return exact;
  const length = text.length - 1;
  const known = prefixes.find((one) => one.length === length);
  if (known !== undefined) return known.values;
  const values = new Map<string, V>();
  prefixes.push({ length, values });
  return values;
}

function placeOf<V>(level: Names<V>, text: string, make: () => V): V {
  const values = valuesFor(level, text);
  const key = withoutStar(text);
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}

type Answer = boolean | undefined;

function inRoles({ exact, prefixes }: Roles, role: string, action: string, resource: string): Answer {
  const actions = exact.get(role);
  let answer = actions === undefined ? undefined : inActions(actions, action, resource);
  for (const { length, values } of prefixes) {
    if (answer === false) return false;
    const more = values.get(role.slice(0, length));
    if (more !== undefined) answer = both(answer, inActions(more, action, resource));
  }
  return answer;
}

function inActions({ exact, prefixes }: Actions, action: string, resource: string): Answer {
  const resources = exact.get(action);
  let answer = resources === undefined ? undefined : inResources(resources, resource);
  for (const { length, values } of prefixes) {
    if (answer === false) return false;
    const more = values.get(action.slice(0, length));
    if (more !== undefined) answer = both(answer, inResources(more, resource));
  }
  return answer;
}

function inResources({ exact, prefixes }: Resources, resource: string): Answer {
  let answer = exact.size === 0 ? undefined : exact.get(resource);
  for (const { length, values } of prefixes) {
    if (answer === false) return false;
    answer = both(answer, values.get(resource.slice(0, length)));
  }
  return answer;
}

function both(one: Answer, other: Answer): Answer {
  return other === false ? false : (one ?? other);
}
