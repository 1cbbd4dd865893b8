import { type DecisionContext, operatorRules } from '@signet/policy-engine/policy';
import type { TextSet } from '../impact/assertion-difference.ts';
import type { ContextSet, OtherValues } from '../impact/contexts.ts';

/** A change of access as a plan or the answer of a server has it. */
interface ShownImpact {
  readonly change: 'gain' | 'loss';
  readonly action: TextSet;
  readonly resource: TextSet;
  readonly domain: string;
  readonly principal: string;
  readonly within?: string | undefined;
  readonly contexts?: readonly ContextSet[] | undefined;
  readonly example: {
    readonly principal: string;
    readonly action: string;
    readonly resource: string;
    readonly context?: DecisionContext | undefined;
  };
}

interface ShownTotals {
  readonly gains: number;
  readonly losses: number;
  readonly isExact: boolean;
}

const shownAGroup = 5;

/** The impact of a change for people: one line for each part of access that flips, principals with the same flip together. */
export function describeImpact(impact: readonly ShownImpact[] | undefined, totals?: ShownTotals): string[] {
  if (totals !== undefined) return [describeTotals(totals, impact ?? []), ...describeListed(impact ?? [])];
  if (impact === undefined) return ['access: cannot be determined, the patterns are too complex'];
  if (impact.length === 0) return ['access: no principal gains or loses access'];
  return describeListed(impact);
}

/** Line about the totals, when more changes than listed exist. */
function describeTotals({ gains, losses, isExact }: ShownTotals, listed: readonly ShownImpact[]): string {
  const least = isExact ? '' : 'at least ';
  return `access: too large to list: ${least}${gains} gains and ${least}${losses} losses; the first ${listed.length} are:`;
}

/** The parts of a change in words, for a table; `where`: the hosts, empty for all. */
export function partsOfChange(change: ShownImpact) {
  return { who: who(change), action: textSet(change.action), resource: resources(change), where: places(change) };
}

function describeListed(impact: readonly ShownImpact[]): string[] {
  const groups = new Map<string, ShownImpact[]>();
  for (const change of impact) {
    const { action, resource, where } = partsOfChange(change);
    const what = `${change.change === 'gain' ? 'gains' : 'loses'} ${action} on ${resource}${where === '' ? '' : ` where ${where}`}`;
    const group = groups.get(what);
    if (group === undefined) groups.set(what, [change]);
    else group.push(change);
  }
  return [...groups].map(([what, changes]) => {
    const names = changes.slice(0, shownAGroup).map(who).join(', ');
    const more = changes.length > shownAGroup ? ` and ${changes.length - shownAGroup} more` : '';
    const [first] = changes;
    const { principal = '', action = '', resource = '', context } = first?.example ?? {};
    return `access: ${names}${more}: ${what} (e.g. ${principal} ${action} ${resource}${describeContext(context)})`;
  });
}

function who({ principal, within }: ShownImpact): string {
  return within === undefined ? principal : `${principal} (services of ${within})`;
}

/** The hosts for which it is so. */
function places({ contexts }: ShownImpact): string {
  return (contexts ?? []).map(describeSet).join(' or ');
}

function describeSet(set: ContextSet): string {
  return Object.entries(set)
    .map(([key, values]) => {
      if (values === null) return `${key} is not given`;
      if ('is' in values) return `${key} is ${values.is}`;
      return describeOthers(values)
        .map((text) => `${key} ${text}`)
        .join(' and ');
    })
    .join(' and ');
}

function describeOthers({ isNot, matching = [], except = [], unreadableBy = [] }: OtherValues): readonly string[] {
  const texts = [
    ...matching.map(({ operator, value }) => `${operatorRules[operator].words.holds} ${value}`),
    ...except.map(({ operator, value }) => `${operatorRules[operator].words.fails} ${value}`),
    ...unreadableBy.map((operator) => operatorRules[operator].words.unreadable ?? ''),
    ...(isNot.length === 0 ? [] : [`is none of ${isNot.join(', ')}`]),
  ];
  return texts.length === 0 ? ['is given'] : texts;
}

function describeContext(context: DecisionContext | undefined): string {
  const values = Object.entries(context ?? {}).map(([key, value]) => `${key}=${value}`);
  return values.length === 0 ? '' : ` with ${values.join(' ')}`;
}

function resources({ domain, resource }: ShownImpact): string {
  const matching = resource.matching.length === 0 ? ['*'] : resource.matching;
  return `${matching.map((pattern) => `${domain}:${pattern}`).join(' and ')}${exceptions(resource)}`;
}

function textSet(set: TextSet): string {
  return `${set.matching.length === 0 ? '*' : set.matching.join(' and ')}${exceptions(set)}`;
}

function exceptions({ except }: TextSet): string {
  return except.length === 0 ? '' : ` except ${except.join(', ')}`;
}
