import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figure } from '../measure/figure.ts';
import { formatNumber, formatSpread, markdownTable } from '../measure/report.ts';
import { type RunData, readRunData } from '../measure/run-data.ts';
import { percentile, type Spread } from '../measure/statistics.ts';
import { parseWords, UsageError } from '../options.ts';
import { type Chapter, chapters } from './chapters.ts';

export const reportUsage = 'usage: npm run bench -- report RUN.json... [--about TEXT.md] [--tables REPORT.md]';

/** A figure in all runs. */
interface Row extends Omit<Figure, 'value'> {
  readonly runs: readonly Spread[];
}

const home = fileURLToPath(new URL('..', import.meta.url));
const pictures = join(home, 'pictures');

/**
 * Writes RESULTS.md and its pictures from what `--data` wrote in several runs: first a picture for each chapter and what it means, then all aims and the
 * tables, at last those that `--out` wrote. `--about` is a file with what a reader has to know of the runs. Throws for a figure that no chapter has.
 */
export function writeReport(args: readonly string[]): void {
  const known = { about: { type: 'string' }, tables: { type: 'string' } } as const;
  const { values, positionals } = parseWords(args, known, reportUsage);
  if (positionals.length === 0) throw new UsageError(reportUsage);
  const runs = positionals.map(readRunData);
  const rows = rowsOf(runs);
  const pages = chapters.map((chapter) => ({ chapter, rows: rows.filter((row) => isOf(row, chapter)) }));
  const lost = rows.filter((row) => !chapters.some((chapter) => isOf(row, chapter)));
  if (lost.length > 0) throw new Error(`no chapter has ${lost.map(({ id }) => id).join(', ')}`);
  const filled = pages.filter((page) => page.rows.length > 0);
  draw(filled.flatMap(({ chapter, rows: own }) => picturesOf(chapter, own)));
  const about = values.about === undefined ? [] : [readFileSync(values.about, 'utf8').trim()];
  const tables = values.tables === undefined ? [] : ['## Reports', nestTables(readFileSync(values.tables, 'utf8'))];
  const blocks = [
    ...introduction(runs, rows, about),
    ...filled.map(meaning),
    overview(rows),
    '## Figures of the runs',
    ...filled.map(tableOf),
    ...tables,
  ];
  const file = join(home, 'RESULTS.md');
  writeFileSync(file, `${blocks.join('\n\n')}\n`);
  // The tables stand as `npm run check` wants them.
  execFileSync('npx', ['biome', 'format', '--write', file], { stdio: 'ignore' });
}

function rowsOf(runs: readonly RunData[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { value, ...figure } of runs.flatMap(({ figures }) => figures)) {
    rows.set(figure.id, { ...figure, runs: [...(rows.get(figure.id)?.runs ?? []), value] });
  }
  return [...rows.values()];
}

function isOf({ id }: Row, { figures }: Chapter): boolean {
  return figures.some((beginning) => id.startsWith(beginning));
}

function introduction(runs: readonly RunData[], rows: readonly Row[], about: readonly string[]): string[] {
  const machines = [...new Set(runs.map(({ machine }) => machine))];
  // A long part may be in fewer of them, with a file of its own.
  const most = Math.max(...rows.map((row) => row.runs.length));
  return [
    '# Results',
    `Machine: ${machines.join('; ')}. ${most === 1 ? 'One run' : `${most} runs`}, in each of which every figure is measured in interleaved rounds beside its peer; how each comes about is in [README.md](README.md). Written by \`npm run bench -- report\`.`,
    ...about,
    'First what each figure means, with a picture; then [all aims](#all-aims) and the [figures](#figures-of-the-runs) in tables.',
    'A dot is the median of one run, its line reaches from the lowest to the highest round, and the dashed line is the aim. Green reaches it, red does not, blue has none.',
  ];
}

function overview(rows: readonly Row[]): string {
  const aimed = rows.filter(({ aim }) => aim !== undefined);
  const cells = aimed.map((row) => [
    row.title,
    aimText(row),
    row.runs.map(({ median }) => withUnit(median, row.unit)).join(', '),
    reachedText(row),
  ]);
  return `## All aims\n\n${markdownTable(['figure', 'aim', 'runs', 'reached'], cells)}`;
}

interface Page {
  readonly chapter: Chapter;
  readonly rows: readonly Row[];
}

function meaning({ chapter, rows }: Page): string {
  const images = picturesOf(chapter, rows).map(({ name, title }) => `![${title}](pictures/${name}.svg)`);
  return [`## ${chapter.title}`, chapter.meaning, ...images].join('\n\n');
}

function tableOf({ chapter, rows }: Page): string {
  const cells = rows.map((row) => [row.title, ...row.runs.map(formatSpread), aimText(row)]);
  const most = Math.max(...rows.map(({ runs }) => runs.length));
  const head = ['figure', ...Array.from({ length: most }, (_, run) => `run ${run + 1}`), 'aim'];
  const filled = cells.map((row) => [
    ...row.slice(0, -1),
    ...Array(head.length - row.length).fill('–'),
    row.at(-1) ?? '',
  ]);
  return `### ${chapter.title}: figures\n\n${markdownTable(head, filled)}`;
}

/** Pictures, one for each unit: another unit needs an axis of its own. */
function picturesOf({ name, title }: Chapter, rows: readonly Row[]) {
  return [...Map.groupBy(rows, ({ unit }) => unit)].map(([unit, own]) => ({
    name:
      unit === ''
        ? name
        : `${name}-${unit
            .replace('µ', 'u')
            .toLowerCase()
            .replaceAll(/[^a-z0-9]+/g, '-')}`,
    title: unit === '' ? title : `${title}, ${unit}`,
    unit,
    rows: own.map(({ title: label, runs, aim }) => ({ label, runs, aim })),
  }));
}

function draw(list: readonly object[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'signet-pictures-'));
  try {
    const input = join(folder, 'pictures.json');
    writeFileSync(input, JSON.stringify(list));
    execFileSync('npm', ['ci', '--silent', '--prefix', pictures], { stdio: 'inherit' });
    mkdirSync(pictures, { recursive: true });
    execFileSync(process.execPath, [join(pictures, 'draw.mjs'), input, pictures], { stdio: 'inherit' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function withUnit(value: number, unit: string): string {
  return unit === '' ? formatNumber(value) : `${formatNumber(value)} ${unit}`;
}

function aimText({ aim, unit }: Row): string {
  return aim === undefined ? '' : `${aim.kind} ${withUnit(aim.value, unit)}`;
}

/** The median of the runs decides. */
function reachedText({ aim, runs }: Row): string {
  if (aim === undefined) return '';
  const median = percentile(
    runs.map((run) => run.median),
    0.5,
  );
  const isReached = aim.kind === 'at most' ? median <= aim.value : median >= aim.value;
  return isReached ? 'yes' : '**missed**';
}

/** Without the line of the machine, and one level below the heading of the tables. */
function nestTables(text: string): string {
  return text
    .replace(/^Machine: .*\n+/, '')
    .replaceAll(/^(#+) /gm, '#$1 ')
    .trim();
}
