import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { formatNumber, formatSpread } from '../measure/report.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';
import type { TokenRates } from './token-worker.ts';

const script = fileURLToPath(new URL('./token-worker.ts', import.meta.url));

/** The whole of `engine.decide` with a verified, bound token against its parts. Each round is a process of its own. */
export async function tokenDecisions(quick: boolean): Promise<string> {
  const rounds: TokenRates[] = [];
  for (let round = 0; round < (quick ? 3 : 7); round++) rounds.push(await oneRound(quick ? 200 : 1000));
  const decide = rounds.map((rates) => rates.decide);
  const toRoles = ratioOf(
    rounds.map((rates) => rates.decideRoles),
    decide,
  );
  const toLookUps = ratioOf(
    rounds.map((rates) => rates.threeLookUps),
    decide,
  );
  return [
    '### A whole `decide` with a verified token bound to a certificate (10,000 assertions)',
    `${formatNumber(spreadOf(decide).median)} a second of processor time.`,
    `Cost in units of \`decideRoles\`: ${formatSpread(toRoles)}.`,
    `Cost in units of three look-ups in maps (token, role, resource): ${formatSpread(toLookUps)}; the \`await\` is part of the cost.`,
  ].join('\n');
}

async function oneRound(cpuMs: number): Promise<TokenRates> {
  const child = fork(script, [], { execArgv: ['--conditions=@signet/source'] });
  child.send(cpuMs);
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (!isRates(message)) throw new Error('the measurement of `decide` ended early');
  child.disconnect();
  return message;
}

function isRates(value: unknown): value is TokenRates {
  return typeof value === 'object' && value !== null && 'decide' in value;
}
