import type { AccessChange } from '../impact/impact.ts';
import type { TextSet } from '../impact/rule-difference.ts';

const shownAGroup = 5;

/** The impact of a change for people: one line for each part of access that flips, principals with the same flip together. */
export function describeImpact(impact: readonly AccessChange[] | undefined): string[] {
  if (impact === undefined) return ['access: cannot be told, the patterns are too entangled'];
  if (impact.length === 0) return ['access: nobody gains or loses any'];
  const groups = new Map<string, AccessChange[]>();
  for (const change of impact) {
    const what = `${change.change === 'gain' ? 'gains' : 'loses'} ${textSet(change.action)} on ${resources(change)}`;
    const group = groups.get(what);
    if (group === undefined) groups.set(what, [change]);
    else group.push(change);
  }
  return [...groups].map(([what, changes]) => {
    const names = changes.slice(0, shownAGroup).map(who).join(', ');
    const more = changes.length > shownAGroup ? ` and ${changes.length - shownAGroup} more` : '';
    const [first] = changes;
    const { principal = '', action = '', resource = '' } = first?.example ?? {};
    return `access: ${names}${more}: ${what} (e.g. ${principal} ${action} ${resource})`;
  });
}

function who({ principal, within }: AccessChange): string {
  return within === undefined ? principal : `${principal} (services of ${within})`;
}

function resources({ domain, resource }: AccessChange): string {
  const matching = resource.matching.length === 0 ? ['*'] : resource.matching;
  return `${matching.map((pattern) => `${domain}:${pattern}`).join(' and ')}${exceptions(resource)}`;
}

function textSet(set: TextSet): string {
  return `${set.matching.length === 0 ? '*' : set.matching.join(' and ')}${exceptions(set)}`;
}

function exceptions({ except }: TextSet): string {
  return except.length === 0 ? '' : ` except ${except.join(', ')}`;
}
