import type { Figure } from '../measure/figure.ts';
import { percentile, spreadOf } from '../measure/statistics.ts';
import { type EngineName, handCoded } from './engines/index.ts';
import type { PlanResult } from './measure-plan.ts';
import { type Kind, kinds } from './workload.ts';

export const smallSize = 10;

/** Minimum of Signet's rate ÷ the better of the hand-coded ones for each kind of wildcard. */
export function decisionFigures(results: readonly PlanResult[]): readonly Figure[] {
  const fresh = results.filter(({ names }) => names === 'fresh');
  const small = fresh.filter(isSmall);
  const large = fresh.filter((result) => !isSmall(result));
  return kinds
    .flatMap((kind) => [
      ...worstFigures(kind, '10 assertions', small),
      ...worstFigures(kind, '1,000 assertions and more', large),
    ])
    .filter((figure) => figure !== undefined);
}

/** Minimum of Signet's rate ÷ the better engine written by hand. */
const minShare = 0.4;

/** The aim is set for engines as short as can be; those that test the domain show how much of the rest that is. */
function worstFigures(kind: Kind, size: string, results: readonly PlanResult[]): (Figure | undefined)[] {
  const ofKind = results.filter(({ plan }) => plan.kind === kind);
  const name = `${kind}, ${size}`;
  const bare = worstFigure(name, ofKind, { id: 'hand', title: '', engines: handCoded.bare });
  return [
    bare && { ...bare, aim: { kind: 'at least', value: minShare } },
    worstFigure(name, ofKind, { id: 'hand-of-domain', title: ' with domain test', engines: handCoded.ofDomain }),
  ];
}

function isSmall({ plan }: PlanResult): boolean {
  return plan.size === smallSize;
}

function ratesOf({ rates }: PlanResult, engine: EngineName): readonly number[] {
  return rates.get(engine) ?? [];
}

interface Peers {
  readonly id: string;
  readonly title: string;
  readonly engines: readonly EngineName[];
}

/** Ours ÷ the better of the peers, round by round. */
function roundsOf(result: PlanResult, engines: readonly EngineName[]): readonly number[] {
  const peers = engines.map((engine) => ratesOf(result, engine));
  return ratesOf(result, 'ours').map((rate, round) => rate / Math.max(...peers.map((rates) => rates[round] ?? 0)));
}

/** The cell with the lowest ratio stands for all. */
function worstFigure(name: string, results: readonly PlanResult[], peers: Peers): Figure | undefined {
  const cells = results.map((result) => ({ result, rounds: roundsOf(result, peers.engines) }));
  const [worst] = cells.toSorted((a, b) => percentile(a.rounds, 0.5) - percentile(b.rounds, 0.5));
  if (worst === undefined) return undefined;
  const { plan, mix } = worst.result;
  return {
    id: `decisions/${peers.id}/${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`,
    title: `decisions ÷ the better of two hand-coded engines${peers.title}, at worst: ${plan.kind}, ${plan.layout}, ${plan.size} assertions, ${mix}`,
    unit: '',
    value: spreadOf(worst.rounds),
  };
}
