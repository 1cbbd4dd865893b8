import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Coverage, type SourceRanges } from './coverage.ts';
import { type Mutant, mutantVariable } from './load-mutant.ts';
import type { NamedMutant } from './mutant.ts';

const loader = new URL('./load-mutant.ts', import.meta.url).href;
const nodeArguments = ['--conditions=@signet/source', '--disable-warning=ExperimentalWarning'];
const program = fileURLToPath(new URL('./run-test.ts', import.meta.url));
/** Environment as AVA sets it, with fewer rounds of random cases: a removed rule shows in the first ones. */
const usual = { NODE_ENV: 'test', SIGNET_PROPERTY_RUNS: '400' };
/** Timeout factor for a mutant, which may loop for ever, over the time of its tests without it. */
const slowness = 5;
const minTimeoutMs = 60_000;
/** A test file that takes longer without a mutant is too slow to be run on many. */
const maxBaselineMs = 120_000;

export type Outcome = 'passed' | 'failed' | 'timed out';

/** Baseline of a test file without a mutant. */
interface Baseline {
  readonly ms: number;
  readonly coverage: Coverage;
}

/** Runs test files, each in a process group of its own, and remembers what they reach. */
export class TestRuns {
  readonly #top: string;
  readonly #folder: string;
  readonly #cache: string;
  readonly #sources: string;
  readonly #baselines = new Map<string, Baseline>();
  #leader: number | undefined;

  /** `folder` is temporary, `cache` is not: what a test reaches is kept there as long as no source changes. */
  constructor(top: string, folder: string, cache: string) {
    this.#top = top;
    this.#folder = folder;
    this.#cache = cache;
    this.#sources = digest(
      globSync(['*/src/**/*.ts', 'test/support/**/*.ts'], { cwd: top }).map((file) => join(top, file)),
    );
    mkdirSync(cache, { recursive: true });
  }

  /** Coverage of a test file; nothing when it fails without any mutant, as it proves nothing then. */
  async baseline(test: string): Promise<Baseline> {
    const known = this.#baselines.get(test) ?? this.#fromCache(test);
    if (known !== undefined) {
      this.#baselines.set(test, known);
      return known;
    }
    const folder = mkdtempSync(join(this.#folder, 'coverage-'));
    const begin = performance.now();
    const outcome = await this.#run(test, { NODE_V8_COVERAGE: folder }, maxBaselineMs);
    const ms = performance.now() - begin;
    const coverage = outcome === 'passed' ? Coverage.read(folder, (url) => this.#counts(url)) : Coverage.of([]);
    const found = { ms, coverage };
    rmSync(folder, { recursive: true });
    this.#baselines.set(test, found);
    if (outcome !== 'passed') {
      console.log(`${test} ${outcome} without a mutant and is left out`);
      return found;
    }
    writeFileSync(this.#cacheFile(test), JSON.stringify({ ms: found.ms, ranges: found.coverage.toRanges() }));
    return found;
  }

  /** Verdict of a test file on a mutant. */
  async tryMutant({ url, source }: NamedMutant, test: string): Promise<Outcome> {
    const file = join(this.#folder, 'mutant.json');
    writeFileSync(file, JSON.stringify({ url, source } satisfies Mutant));
    const environment = {
      [mutantVariable]: file,
      NODE_OPTIONS: `--import=${loader}`,
      // Not where coverage is measured, which compiled code makes less precise.
      NODE_COMPILE_CACHE: join(this.#cache, 'compiled'),
    };
    const { ms } = await this.baseline(test);
    return await this.#run(test, environment, Math.max(minTimeoutMs, slowness * ms));
  }

  /** Ends the tests that run now; what they would have said is lost. */
  stop(): void {
    endGroup(this.#leader);
  }

  #counts(url: string): boolean {
    return (
      url.startsWith(pathToFileURL(`${this.#top}/`).href) &&
      /\/src\/.*\.ts$/.test(url) &&
      !url.includes('/node_modules/')
    );
  }

  #cacheFile(test: string): string {
    const name = createHash('sha256').update(this.#sources).update(test);
    return join(this.#cache, `${name.update(digest([join(this.#top, 'test', test)])).digest('hex')}.json`);
  }

  #fromCache(test: string): Baseline | undefined {
    try {
      const kept: { ms: number; ranges: SourceRanges[] } = JSON.parse(readFileSync(this.#cacheFile(test), 'utf8'));
      return { ms: kept.ms, coverage: Coverage.of(kept.ranges) };
    } catch {
      return undefined;
    }
  }

  #run(test: string, environment: Record<string, string>, timeoutMs: number): Promise<Outcome> {
    const temporary = mkdtempSync(join(this.#folder, 'tests-'));
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [...nodeArguments, program, test], {
        cwd: join(this.#top, 'test'),
        env: { ...process.env, ...usual, TMPDIR: temporary, ...environment },
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        detached: true,
      });
      this.#leader = child.pid;
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        endGroup(child.pid);
      }, timeoutMs);
      child.once('error', reject);
      child.once('close', (status) => {
        clearTimeout(timer);
        endGroup(child.pid);
        rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
        resolve(isLate ? 'timed out' : status === 0 ? 'passed' : 'failed');
      });
    });
  }
}

/** Ends what is left of a process group. */
function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // nothing of it is left
  }
}

function digest(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of [...files].sort()) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}
