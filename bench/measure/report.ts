import type { Spread } from './statistics.ts';

/** `1.52 (1.49–1.60)`: median, least and greatest. */
export function formatSpread(spread: Spread): string {
  return `${formatNumber(spread.median)} (${formatNumber(spread.low)}–${formatNumber(spread.high)})`;
}

/** Three significant digits, thousands separated. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** A table in Markdown. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Aim with the reached value. */
export function verdict(value: number, aim: number, kind: 'at most' | 'at least'): string {
  const reached = kind === 'at most' ? value <= aim : value >= aim;
  return `${kind} ${aim}: ${reached ? 'reached' : '**missed**'}`;
}
