import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figure } from '../measure/figure.ts';
import { formatNumber, formatSpread, markdownTable } from '../measure/report.ts';
import { readRunData } from '../measure/run-data.ts';
import { type Part, parseParts, parseWords, UsageError } from '../options.ts';
import { compareRounds } from './compare.ts';
import { checkOut } from './other-tree.ts';

export const gateUsage = 'usage: npm run bench -- gate [COMMIT] [--part PART]... [--rounds N]';

/** Parts that a usual change affects, and that are measured in a minute or two. */
const usualParts: readonly Part[] = ['token', 'unchanged', 'loading'];

/**
 * Compares this tree with `COMMIT` (the last one where none is named): the short version of each part in both, in turn, each round
 * beginning with the other one. Says which figures moved by more than the noise.
 */
export function gate(args: readonly string[]): void {
  const known = { part: { type: 'string', multiple: true }, rounds: { type: 'string', default: '5' } } as const;
  const { values, positionals } = parseWords(args, known, gateUsage);
  const rounds = Number(values.rounds);
  if (positionals.length > 1 || !Number.isInteger(rounds) || rounds < 1 || rounds > 100)
    throw new UsageError(gateUsage);
  const parts = values.part === undefined ? usualParts : parseParts(values.part);
  const [commit = 'HEAD'] = positionals;
  const top = execFileSync('git', ['rev-parse', '--show-toplevel'], { encoding: 'utf8' }).trim();
  const folder = mkdtempSync(join(tmpdir(), 'signet-gate-'));
  const other = checkOut(top, commit, join(folder, 'tree'));
  try {
    const before: Figure[][] = [];
    const after: Figure[][] = [];
    const run = (tree: string, rows: Figure[][]) => rows.push(measure(tree, parts, join(folder, 'data.json')));
    for (let round = 0; round < rounds; round += 1) {
      process.stderr.write(`round ${round + 1} of ${rounds}\n`);
      if (round % 2 === 0) run(other.folder, before);
      run(top, after);
      if (round % 2 === 1) run(other.folder, before);
    }
    console.log(table(commit, before, after));
  } finally {
    other.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

function measure(tree: string, parts: readonly Part[], file: string): Figure[] {
  const args = ['--conditions=@signet/source', 'run.ts', ...parts, '--quick', '--data', file];
  execFileSync(process.execPath, args, { cwd: join(tree, 'bench'), stdio: ['ignore', 'ignore', 'inherit'] });
  return [...readRunData(file).figures];
}

function table(commit: string, before: readonly Figure[][], after: readonly Figure[][]): string {
  const rows = compareRounds(before, after).map(({ title, ratio, verdict, ...values }) => [
    title,
    formatNumber(values.before),
    formatNumber(values.after),
    formatSpread(ratio),
    verdict === 'within the noise' ? verdict : `**${verdict}**`,
  ]);
  return markdownTable(['figure', commit, 'this tree', 'this tree ÷ the other', 'verdict'], rows);
}
