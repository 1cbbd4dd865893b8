import { styleText } from 'node:util';
import type { Plan } from '../../management/plan-documents.ts';
import { describeTotals, domainPlans, type PlanLine, planNotes, type Sign } from './plan-lines.ts';

type Color = Parameters<typeof styleText>[0];

const colors: Readonly<Record<Sign, Color>> = { '+': 'green', '~': 'yellow', '-': 'red', ' ': 'dim' };

/**
 * A plan for a person: each domain with its changes and whose access changes, and the totals at the end. With colors where `stream` is a
 * terminal that has them; `NO_COLOR` and `FORCE_COLOR` are obeyed.
 */
export function planText(plan: Plan, stream: NodeJS.WritableStream): string {
  const color = (style: Color, text: string) => styleText(style, text, { stream });
  const line = ({ sign, text }: PlanLine) => `  ${color(colors[sign], `${sign} ${text}`)}`;
  const domains = domainPlans(plan).map(({ domain, changes, access }) => {
    const shown = access.map(({ sign, text }) => `  ${color(colors[sign], text)}`);
    return [color('bold', domain), ...changes.map(line), ...shown, ''].join('\n');
  });
  const { totals, casesPassed } = plan;
  const summary = domains.length === 0 ? 'nothing would change' : describeTotals(totals);
  return [...domains, ...planNotes(plan), color('bold', summary), `${casesPassed} cases passed`, ''].join('\n');
}
