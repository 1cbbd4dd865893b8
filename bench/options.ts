import { parseArgs } from 'node:util';

export const parts = [
  'token',
  'unchanged',
  'decisions',
  'loading',
  'impact',
  'certificates',
  'sizes',
  'budgets',
  'postgres',
  'metrics',
  'connections',
  'handshakes',
  'memory',
  'start',
  'workers',
] as const;
export type Part = (typeof parts)[number];

export interface Options {
  readonly parts: readonly Part[];
  /** A short version: fewer sizes and rounds, no counted instructions. */
  readonly quick: boolean;
  /** Instructions are counted in a short version as well. */
  readonly count: boolean;
  /** Where the report goes besides standard output. */
  readonly out: string | undefined;
  /** Where the figures go as JSON, for pictures and comparisons. */
  readonly data: string | undefined;
}

export const usage = `usage: npm run bench -- [${parts.join(' | ')}]... [--quick [--count]] [--out FILE] [--data FILE]`;

/** Reads the command line; throws with the usage when it is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      count: { type: 'boolean', default: false },
      out: { type: 'string' },
      data: { type: 'string' },
    },
  });
  const chosen = parseParts(positionals);
  const { quick, count, out, data } = values;
  return { parts: chosen.length === 0 ? parts : chosen, quick, count: count || !quick, out, data };
}

/** Throws with the usage for a name that is no part. */
export function parseParts(names: readonly string[]): Part[] {
  return names.map((name) => {
    const part = parts.find((candidate) => candidate === name);
    if (part === undefined) throw new Error(usage);
    return part;
  });
}
