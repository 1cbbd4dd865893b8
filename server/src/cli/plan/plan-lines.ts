import { escapeControls } from '../../base/terminal-text.ts';
import type { AccessChange } from '../../impact/impact.ts';
import { describeImpact } from '../../management/describe-impact.ts';
import type { ObjectChange } from '../../management/object-changes.ts';
import type { Plan } from '../../management/plan-documents.ts';
import { type PlanTotals, planTotals } from '../../management/plan-totals.ts';
import { describeField } from '../describe-field.ts';

/* Lines of a plan, which every format shows in its own way. No line holds a line end or another control character. */

export type Sign = '+' | '~' | '-' | ' ';

export interface PlanLine {
  readonly sign: Sign;
  readonly text: string;
}

export interface DomainPlan {
  readonly domain: string;
  readonly totals: PlanTotals;
  readonly changes: readonly PlanLine[];
  readonly access: readonly PlanLine[];
}

const signs = { create: '+', change: '~', delete: '-' } as const;

/** The domains in which something changes, sorted. */
export function domainPlans({ changes, impact, impactTotals }: Plan): readonly DomainPlan[] {
  const changesOf = Map.groupBy(changes, ({ domain }) => domain);
  const impactOf = Map.groupBy(impact ?? [], ({ domain }) => domain);
  const domains = [...new Set([...changesOf.keys(), ...impactOf.keys()])].sort();
  return domains.map((domain) => {
    const own = changesOf.get(domain) ?? [];
    const access = impactOf.get(domain) ?? [];
    return {
      domain,
      totals: planTotals(own, impact === undefined ? undefined : access, impactTotals),
      changes: own.flatMap(linesOf),
      access: accessLines(access),
    };
  });
}

function linesOf({ change, kind, name, fields = [] }: ObjectChange): PlanLine[] {
  const sign = signs[change];
  return [
    { sign, text: escapeControls(kind === 'domain' ? 'domain' : `${kind} ${name}`) },
    ...fields.map((field): PlanLine => ({ sign: ' ', text: `  ${describeField(field, change === 'create')}` })),
  ];
}

function accessLines(impact: readonly AccessChange[]): PlanLine[] {
  const of = (kind: AccessChange['change'], sign: Sign) => {
    const listed = impact.filter(({ change }) => change === kind);
    const lines = listed.length === 0 ? [] : describeImpact(listed);
    return lines.map((line): PlanLine => ({ sign, text: escapeControls(line) }));
  };
  return [...of('gain', '+'), ...of('loss', '-')];
}

/** Notes on a plan as a whole: approvals that it needs, changes that are not listed, and access that cannot be told or is too much to list. */
export function planNotes({ changes, changesTotal, needs, impact, impactTotals }: Plan): readonly string[] {
  const needed = Object.entries(needs ?? {}).map(
    ([domain, count]) => `${escapeControls(domain)} needs ${count} ${count === 1 ? 'approval' : 'approvals'}`,
  );
  const unlisted = changesTotal === undefined ? [] : [`${changes.length} of ${changesTotal} changes are listed`];
  const cut = [...needed, ...unlisted];
  if (impactTotals !== undefined) return [...cut, ...describeImpact([], impactTotals)];
  return impact === undefined ? [...cut, ...describeImpact(undefined)] : cut;
}

/** `3 to add, 1 to change, 2 to remove; 2 principals gain access, 1 loses access`. */
export function describeTotals({ add, change, remove, access }: PlanTotals): string {
  const objects = `${add} to add, ${change} to change, ${remove} to remove`;
  if (access === undefined) return `${objects}; changes of access cannot be determined`;
  const { gain, lose, isExact } = access;
  const least = isExact ? '' : 'at least ';
  if (gain + lose === 0 && isExact) return `${objects}; no principal gains or loses access`;
  const gains = `${least}${gain} ${gain === 1 ? 'principal gains' : 'principals gain'} access`;
  return `${objects}; ${gains}, ${least}${lose} ${lose === 1 ? 'loses' : 'lose'} access`;
}
