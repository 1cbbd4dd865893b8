import { escapeControls } from '../../base/terminal-text.ts';
import { type DocumentProblem, formatProblem } from '../../errors.ts';
import type { Plan } from '../../management/plan-documents.ts';
import { type DomainPlan, describeTotals, domainPlans, type PlanLine, planNotes } from './plan-lines.ts';

/*
 * A plan as a comment on a pull request. What people wrote stands in code alone: in a fence that is longer than any run of backticks in it,
 * with a sign before each line, so that no name or description is Markdown, HTML or a mention.
 */

/** GitHub takes comments of 65,536 characters; these are bytes, with room for a line of the pipeline's own. */
const maxBytes = 65_000;
const maxLineCharacters = 500;
/** Overhead of a section: two fences as long as a line, the word `diff`, and line ends. */
const maxFrameBytes = 2 * maxLineCharacters + 16;
/** Domains listed before the folded parts, so that they fit one screen. */
const maxShownDomains = 15;
const maxShownRefusals = 5;

const diffSigns = { '+': '+', '~': '!', '-': '-', ' ': ' ' } as const;

/** The totals first, then what would be refused, then a table of domains; access and changes are folded. */
export function planMarkdown(plan: Plan): string {
  const domains = domainPlans(plan);
  const { refusals, warnings, totals, casesPassed } = plan;
  const summary = domains.length === 0 ? 'nothing would change' : describeTotals(totals);
  const head = [
    `### Signet plan: ${summary}`,
    ...refusalsOf(refusals),
    ...tableOf(domains),
    `${casesPassed} policy tests pass${warnings.length === 0 ? '' : `, ${warnings.length} warnings`}.`,
  ].join('\n\n');
  const parts: readonly Part[] = [
    { title: 'Refusals', sections: [problemLines(refusals.slice(maxShownRefusals))] },
    { title: 'Warnings', sections: [problemLines(warnings)] },
    { title: 'Access', sections: accessOf(plan, domains) },
    { title: 'Changes', sections: domains.map(({ domain, changes }) => ({ title: domain, lines: changes })) },
  ];
  const texts = [head];
  const filled = parts.filter(({ sections }) => sections.some(({ lines }) => lines.length > 0));
  for (const [index, part] of filled.entries()) {
    const left = maxBytes - texts.reduce((sum, text) => sum + bytes(text) + 2, 0);
    texts.push(folded(part, Math.floor(left / (filled.length - index))));
  }
  return `${texts.join('\n\n')}\n`;
}

/** Problems of documents without a plan: they are malformed, or their policy tests fail. */
export function problemsMarkdown(problems: readonly DocumentProblem[]): string {
  const head = `### Signet plan: problems in the documents: ${problems.length}`;
  const part = { title: 'Problems', sections: [problemLines(problems.slice(maxShownRefusals))] };
  const texts = [head, fenced(problemLines(problems.slice(0, maxShownRefusals)).lines.map(shown))];
  if (problems.length > maxShownRefusals) texts.push(folded(part, maxBytes - bytes(texts.join('\n\n'))));
  return `${texts.join('\n\n')}\n`;
}

/** Table of domains, whose names have letters, digits, `.`, `-` and `_` only: they need no escaping in code. */
function tableOf(domains: readonly DomainPlan[]): string[] {
  if (domains.length === 0) return [];
  const rows = domains.slice(0, maxShownDomains).map(({ domain, totals: { add, change, remove, access } }) => {
    const cells = [add, change, remove, access?.gain ?? '?', access?.lose ?? '?'];
    return `| \`${domain}\` | ${cells.join(' | ')} |`;
  });
  const more = domains.length - rows.length;
  return [
    [
      '| domain | add | change | remove | gain access | lose access |',
      '| --- | ---: | ---: | ---: | ---: | ---: |',
      ...rows,
      ...(more > 0 ? [`| and ${more} more | | | | | |`] : []),
    ].join('\n'),
  ];
}

function refusalsOf(refusals: readonly DocumentProblem[]): string[] {
  if (refusals.length === 0) return [];
  const { lines } = problemLines(refusals.slice(0, maxShownRefusals));
  return [`**\`signet apply\` would refuse this: ${refusals.length}**`, fenced(lines.map(shown))];
}

interface Section {
  readonly title?: string;
  readonly lines: readonly PlanLine[];
}

function problemLines(problems: readonly DocumentProblem[]): Section {
  return { lines: problems.map((problem) => ({ sign: '-', text: escapeControls(formatProblem(problem)) })) };
}

function accessOf(plan: Plan, domains: readonly DomainPlan[]): Section[] {
  return [
    { lines: planNotes(plan).map((text) => ({ sign: ' ', text })) },
    ...domains.map(({ domain, access }) => ({ title: domain, lines: access })),
  ];
}

interface Part {
  readonly title: string;
  readonly sections: readonly Section[];
}

/** Collapsible part, with as many of its lines as fit into `room` bytes. */
function folded({ title, sections }: Part, room: number): string {
  const count = sections.reduce((sum, { lines }) => sum + lines.length, 0);
  const frame = (texts: readonly string[], left: number) => {
    const cut = left === 0 ? [] : [`${left} more lines: \`signet plan --format json\` lists all.`];
    return [`<details><summary>${title} (${count} lines)</summary>`, ...texts, ...cut, '</details>'].join('\n\n');
  };
  const texts: string[] = [];
  let free = room - bytes(frame([], count));
  let left = count;
  for (const { title: name, lines } of sections) {
    const heading = name === undefined || lines.length === 0 ? [] : [`**\`${name}\`**`];
    const taken = fitting(lines.map(shown), free - bytes(heading.join('')) - maxFrameBytes);
    if (taken.length === 0) continue;
    const section = [...heading, fenced(taken)].join('\n\n');
    free -= bytes(section) + 2;
    left -= taken.length;
    texts.push(section);
  }
  return frame(texts, left);
}

/** The first of the lines that fit. */
function fitting(lines: readonly string[], room: number): readonly string[] {
  let used = 0;
  const over = lines.findIndex((line) => {
    used += bytes(line) + 1;
    return used > room;
  });
  return over < 0 ? lines : lines.slice(0, over);
}

function shown({ sign, text }: PlanLine): string {
  const cut = text.length <= maxLineCharacters ? text : `${text.slice(0, maxLineCharacters).toWellFormed()}…`;
  return `${diffSigns[sign]} ${cut}`;
}

function fenced(lines: readonly string[]): string {
  const runs = lines.flatMap((line) => line.match(/`+/g) ?? []);
  const fence = '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run.length), 2) + 1);
  return [`${fence}diff`, ...lines, fence].join('\n');
}

function bytes(text: string): number {
  return Buffer.byteLength(text);
}
