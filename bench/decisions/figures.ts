import type { Figure } from '../measure/figure.ts';
import { percentile, ratioOf, spreadOf } from '../measure/statistics.ts';
import type { EngineName } from './engines/index.ts';
import type { PlanResult } from './measure-plan.ts';
import { kinds } from './workload.ts';

const smallSize = 10;

/** The least of ours ÷ the better of the hand-coded ones for each kind of wildcard, and how the cost of a hit grows with the policy. */
export function decisionFigures(results: readonly PlanResult[]): readonly Figure[] {
  const fresh = results.filter(({ names }) => names === 'fresh');
  const worst = kinds.flatMap((kind) => {
    const ofKind = fresh.filter(({ plan }) => plan.kind === kind);
    return [
      worstFigure(`${kind}, 10 assertions`, ofKind.filter(isSmall), 0.7),
      worstFigure(
        `${kind}, 1,000 assertions and more`,
        ofKind.filter((result) => !isSmall(result)),
        1,
      ),
    ];
  });
  return [...worst, growthFigure(fresh)].filter((figure) => figure !== undefined);
}

function isSmall({ plan }: PlanResult): boolean {
  return plan.size === smallSize;
}

function ratesOf({ rates }: PlanResult, engine: EngineName): readonly number[] {
  return rates.get(engine) ?? [];
}

/** Ours ÷ the better of the hand-coded ones, round by round. */
function roundsOf(result: PlanResult): readonly number[] {
  const map = ratesOf(result, 'hand-coded map');
  const scan = ratesOf(result, 'hand-coded scan');
  return ratesOf(result, 'ours').map((rate, round) => rate / Math.max(map[round] ?? 0, scan[round] ?? 0));
}

/** The cell with the lowest ratio stands for all. */
function worstFigure(name: string, results: readonly PlanResult[], aim: number): Figure | undefined {
  const cells = results.map((result) => ({ result, rounds: roundsOf(result) }));
  const [worst] = cells.toSorted((a, b) => percentile(a.rounds, 0.5) - percentile(b.rounds, 0.5));
  if (worst === undefined) return undefined;
  const { plan, mix } = worst.result;
  return {
    id: `decisions/hand/${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`,
    title: `decisions ÷ the better of two hand-coded engines, at worst: ${plan.kind}, ${plan.layout}, ${plan.size} assertions, ${mix}`,
    unit: '',
    value: spreadOf(worst.rounds),
    aim: { kind: 'at least', value: aim },
  };
}

/** The cost of a hit in the largest policy ÷ one in the smallest, where it grows most. */
function growthFigure(results: readonly PlanResult[]): Figure | undefined {
  const hits = results.filter(({ mix }) => mix.startsWith('hit'));
  const largest = Math.max(...hits.map(({ plan }) => plan.size));
  const spreads = hits.flatMap((large) => {
    if (large.plan.size !== largest) return [];
    const { kind, layout } = large.plan;
    const small = hits.find(
      ({ plan, mix }) => plan.size === smallSize && plan.kind === kind && plan.layout === layout && mix === large.mix,
    );
    return small === undefined ? [] : [ratioOf(ratesOf(small, 'ours'), ratesOf(large, 'ours'))];
  });
  const [worst] = spreads.toSorted((a, b) => b.median - a.median);
  if (worst === undefined) return undefined;
  return {
    id: 'decisions/growth/hit',
    title: 'a hit in the largest policy ÷ one in the smallest, where it grows most',
    unit: '',
    value: worst,
    aim: { kind: 'at most', value: 4 },
  };
}
