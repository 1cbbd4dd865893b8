import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equivalent } from './equivalent.ts';
import { isSame, mutantsOf, type NamedMutant, shuffle } from './mutant.ts';
import { type NearTest, nearestTests, securitySources } from './nearest-tests.ts';
import { type Options, parseOptions } from './options.ts';
import { TestRuns } from './test-runs.ts';

const top = fileURLToPath(new URL('../..', import.meta.url));
/** The share of the mutants that the tests must kill. */
const goal = 0.95;
/** Number of test files that try to kill a mutant, and more while they are quick; those of attacks on the whole system come beside. */
const maxTests = 8;
const quickMs = 30_000;
const attacks = 'system/';

type Fate = 'killed' | 'timed out' | 'survived' | 'not reached';

interface Tried {
  readonly mutant: NamedMutant;
  readonly fate: Fate;
  /** The tests that were run on it. */
  readonly tests: readonly string[];
}

/** A test file that reaches a mutant, and how long it takes without one. */
interface ReachingTest {
  readonly test: string;
  readonly ms: number;
}

async function tryMutant(runs: TestRuns, mutant: NamedMutant): Promise<Tried> {
  const tests: string[] = [];
  let spentMs = 0;
  for await (const { test, ms } of testsFor(runs, mutant)) {
    if (tests.length >= maxTests && spentMs > quickMs && !test.startsWith(attacks)) continue;
    tests.push(test);
    spentMs += ms;
    const outcome = await runs.tryMutant(mutant, test);
    if (outcome !== 'passed') return { mutant, fate: outcome === 'failed' ? 'killed' : 'timed out', tests };
  }
  return { mutant, fate: tests.length === 0 ? 'not reached' : 'survived', tests };
}

/** The near tests that reach a mutant, the nearest first and of those the quickest; for a boundary the table of limits too. */
async function* testsFor(runs: TestRuns, { file, kind, url, offset }: NamedMutant): AsyncGenerator<ReachingTest> {
  const limits: readonly NearTest[] = kind === 'moved boundary' ? [{ file: 'limits/constants.test.ts', rank: 0 }] : [];
  const ranks = Map.groupBy([...nearestTests(top, file), ...limits], ({ rank }) => rank);
  // Farther tests are measured only when no nearer one has killed the mutant.
  for (const rank of [...ranks.keys()].sort((a, b) => a - b)) {
    const reaching: ReachingTest[] = [];
    for (const { file: test } of ranks.get(rank) ?? []) {
      const { coverage, ms } = await runs.baseline(test);
      if (coverage.reaches(url, offset)) reaching.push({ test, ms });
    }
    yield* reaching.sort((a, b) => a.ms - b.ms);
  }
}

async function tryAll(options: Options, sample: readonly NamedMutant[]): Promise<Tried[]> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-mutants-'));
  const end = performance.now() + options.minutes * 60_000;
  const tried: Tried[] = [];
  try {
    const runs = new TestRuns(top, folder, join(top, 'node_modules/.cache/signet-mutants'));
    let stopped = false;
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      process.once(name, () => {
        stopped = true;
        runs.stop();
      });
    }
    for (const mutant of sample) {
      if (performance.now() > end) break;
      const result = await tryMutant(runs, mutant);
      if (stopped) break;
      tried.push(result);
      console.log(`${result.fate.padEnd(11)} ${describe(mutant)} [${result.tests.at(-1) ?? 'no test'}]`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  return tried;
}

function describe({ file, line, kind }: NamedMutant): string {
  return `${file}:${line} ${kind}`;
}

function difference({ from, to }: NamedMutant): string {
  const mark = (sign: string, text: string) => text.replace(/^/gm, `  ${sign} `);
  return `${mark('-', from)}\n${mark('+', to)}`;
}

/** The report; answers whether the goal is met. */
function report(tried: readonly Tried[], left: number): boolean {
  const survivors = tried.filter(({ fate }) => fate === 'survived' || fate === 'not reached');
  for (const { mutant, fate, tests } of survivors) {
    console.log(`\n${fate}: ${describe(mutant)} (${tests.length} test files)\n${difference(mutant)}`);
  }
  const killed = tried.length - survivors.length;
  const share = tried.length === 0 ? 1 : killed / tried.length;
  console.log(`\n${killed} of ${tried.length} mutants killed (${(share * 100).toFixed(1)} %), ${left} not tried`);
  return share >= goal;
}

async function main(options: Options): Promise<void> {
  const all = securitySources(top, options.files).flatMap((file) => mutantsOf(top, file));
  const stale = equivalent.filter(
    (known) => options.files.length === 0 && !all.some((mutant) => isSame(mutant, known)),
  );
  for (const { file, from } of stale)
    console.log(`equivalent.ts: no mutation of ${file} is like this any more: ${from}`);
  const counted = all.filter((mutant) => !equivalent.some((known) => isSame(mutant, known)));
  const sample = shuffle(counted, options.seed).slice(0, options.sample);
  console.log(`${all.length} mutants, ${all.length - counted.length} of them equivalent; sample of ${sample.length}`);
  if (options.list) {
    for (const mutant of sample) console.log(`${describe(mutant)}\n${difference(mutant)}`);
    return;
  }
  const tried = await tryAll(options, sample);
  process.exitCode = report(tried, sample.length - tried.length) ? 0 : 1;
}

await main(parseOptions(process.argv.slice(2)));
