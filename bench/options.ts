import { type ParseArgsConfig, parseArgs } from 'node:util';

export const parts = [
  'token',
  'unchanged',
  'decisions',
  'loading',
  'impact',
  'imports',
  'holds',
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

/** A command line that cannot be taken. The message ends with how it is written. */
export class UsageError extends Error {}

/** Parsed command line: its options, and words beside them. Throws a UsageError when it is malformed. */
export function parseWords<Known extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Known,
  usageOfCommand: string,
) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n${usageOfCommand}`);
  }
}

/** Reads the command line. Throws a UsageError when it is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const known = {
    quick: { type: 'boolean', default: false },
    count: { type: 'boolean', default: false },
    out: { type: 'string' },
    data: { type: 'string' },
  } as const;
  const { values, positionals } = parseWords(args, known, usage);
  const chosen = parseParts(positionals);
  const { quick, count, out, data } = values;
  return { parts: chosen.length === 0 ? parts : chosen, quick, count: count || !quick, out, data };
}

/** Throws a UsageError for a name that is no part. */
export function parseParts(names: readonly string[]): Part[] {
  return names.map((name) => {
    const part = parts.find((candidate) => candidate === name);
    if (part === undefined) throw new UsageError(`There is no part '${name}'\n${usage}`);
    return part;
  });
}
