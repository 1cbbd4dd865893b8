import { readFileSync, writeFileSync } from 'node:fs';
import type { Figure } from './figure.ts';

/** Run data of `--data`: the figures of one run and the machine that it was on. */
export interface RunData {
  readonly machine: string;
  readonly figures: readonly Figure[];
}

export function writeRunData(file: string, data: RunData): void {
  writeFileSync(file, `${JSON.stringify(data, undefined, 2)}\n`);
}

/** Throws when the file is none that `--data` has written. */
export function readRunData(file: string): RunData {
  const data: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (!isRunData(data)) throw new Error(`\`${file}\` is not what \`--data\` writes`);
  return data;
}

function isRunData(data: unknown): data is RunData {
  return (
    typeof data === 'object' && data !== null && 'machine' in data && 'figures' in data && Array.isArray(data.figures)
  );
}
