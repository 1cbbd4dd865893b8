import type { Figure, PartReport } from '../measure/figure.ts';
import { compilingAtOnce, type InstructionCounter } from '../measure/instructions.ts';
import { oneAnswer } from '../measure/one-answer.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, ratioToMedian, spreadOf } from '../measure/statistics.ts';
import type { TokenCosts, TokenOrder } from './token-worker.ts';

const script = new URL('./token-worker.ts', import.meta.url);

/** The whole of `engine.decide` with tokens that are bound to a certificate, beside what it may cost at most. */
export async function tokenDecisions(quick: boolean, counter: InstructionCounter | undefined): Promise<PartReport> {
  const costs = await measured(quick ? { rounds: 15, cpuMs: 30 } : { rounds: 51, cpuMs: 60 });
  const counts = counter && (await measured({ rounds: 3, cpuMs: 0, countIn: counter.folder }, counter.wrapper));
  const figures: readonly Figure[] = [
    {
      id: 'decisions/decide/uncached',
      title: 'decide with a token that was not seen before ÷ one crypto.verify',
      unit: '',
      value: ratioOf(costs.uncached, costs.verify),
    },
    {
      id: 'decisions/decide/uncached-at-best',
      title: 'the same ÷ one crypto.verify of a signature in DER, which Node verifies fastest',
      unit: '',
      value: ratioOf(costs.uncached, costs['verify at best']),
    },
    {
      id: 'decisions/decide/fresh-header',
      title: 'decide with a token that is known, from a header ÷ look-ups written by hand with the same checks',
      unit: '',
      value: ratioOf(costs['fresh header'], costs['by hand']),
    },
    {
      id: 'decisions/decide/known-token',
      title: 'decide with a token that is known, the same text',
      unit: 'ns',
      value: spreadOf(costs.cached.map((microseconds) => microseconds * 1000)),
      aim: { kind: 'at most', value: 400 },
    },
    {
      id: 'decisions/decide/roles',
      title: 'decide with a token that is known, the same text ÷ decideRoles',
      unit: '',
      value: ratioOf(costs.cached, costs.roles),
    },
    ...(counts === undefined ? [] : countedFigures(counts)),
  ];
  const rows = figures.map(({ title, unit, value, aim }) => [
    title,
    `${formatSpread(value)} ${unit}`.trim(),
    aim === undefined ? '' : verdict(value.median, aim.value, aim.kind),
  ]);
  const markdown = [
    '### A whole `decide` with a token bound to a certificate (10,000 assertions)',
    markdownTable(['processor time, where nothing else is said', 'ratio or time', 'aim'], rows),
    markdownTable(
      ['call', 'microseconds of processor time'],
      Object.entries(costs).map(([call, values]) => [call, formatSpread(spreadOf(values))]),
    ),
  ].join('\n\n');
  return { markdown, figures };
}

function countedFigures(counts: TokenCosts): readonly Figure[] {
  return [
    {
      id: 'decisions/decide/uncached/instructions',
      title: 'decide with a token that was not seen before ÷ one crypto.verify, instructions',
      unit: '',
      value: ratioToMedian(counts.uncached, counts.verify),
    },
    {
      id: 'decisions/decide/fresh-header/instructions',
      title: 'decide with a token that is known, from a header ÷ look-ups written by hand, instructions',
      unit: '',
      value: ratioToMedian(counts['fresh header'], counts['by hand']),
    },
  ];
}

async function measured(order: TokenOrder, wrapper: readonly string[] = []): Promise<TokenCosts> {
  const costs = await oneAnswer(script, order, { wrapper, flags: wrapper.length === 0 ? [] : compilingAtOnce });
  if (!isCosts(costs)) throw new Error('the measurement of `decide` ended early');
  return costs;
}

function isCosts(value: unknown): value is TokenCosts {
  return typeof value === 'object' && value !== null && 'uncached' in value;
}
