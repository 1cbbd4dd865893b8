import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Figure, PartReport } from '../measure/figure.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';
import type { TokenCosts, TokenOrder } from './token-worker.ts';

const script = fileURLToPath(new URL('./token-worker.ts', import.meta.url));

/** The whole of `engine.decide` with tokens that are bound to a certificate, beside what it may cost at most. */
export async function tokenDecisions(quick: boolean): Promise<PartReport> {
  const costs = await measured(quick ? { rounds: 15, cpuMs: 30 } : { rounds: 51, cpuMs: 60 });
  const figures: readonly Figure[] = [
    {
      id: 'decisions/decide/uncached',
      title: 'decide with a token that was not seen before ÷ one crypto.verify',
      unit: '',
      value: ratioOf(costs.uncached, costs.verify),
      aim: { kind: 'at most', value: 1.25 },
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
      aim: { kind: 'at most', value: 1 },
    },
    {
      id: 'decisions/decide/roles',
      title: 'decide with a token that is known, the same text ÷ decideRoles',
      unit: '',
      value: ratioOf(costs.cached, costs.roles),
    },
  ];
  const rows = figures.map(({ title, value, aim }) => [
    title,
    formatSpread(value),
    aim === undefined ? '' : verdict(value.median, aim.value, aim.kind),
  ]);
  const markdown = [
    '### A whole `decide` with a token bound to a certificate (10,000 assertions)',
    markdownTable(['processor time', 'ratio', 'aim'], rows),
    markdownTable(
      ['call', 'microseconds of processor time'],
      Object.entries(costs).map(([call, values]) => [call, formatSpread(spreadOf(values))]),
    ),
  ].join('\n\n');
  return { markdown, figures };
}

async function measured(order: TokenOrder): Promise<TokenCosts> {
  const child = fork(script, [], { execArgv: ['--conditions=@signet/source'] });
  child.send(order);
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (!isCosts(message)) throw new Error('the measurement of `decide` ended early');
  child.disconnect();
  return message;
}

function isCosts(value: unknown): value is TokenCosts {
  return typeof value === 'object' && value !== null && 'uncached' in value;
}
