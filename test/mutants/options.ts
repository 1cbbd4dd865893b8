import { parseArgs } from 'node:util';

export interface Options {
  /** No new mutant is begun after this time. */
  readonly minutes: number;
  readonly seed: number;
  /** Maximum number of mutants. */
  readonly sample: number;
  /** Only sources whose path begins with one of these; all for none. */
  readonly files: readonly string[];
  /** Only say what would be tried. */
  readonly list: boolean;
}

export const usage = 'usage: npm run mutants -- [--minutes N] [--seed N] [--sample N] [--file PATH-PREFIX]... [--list]';

/** Reads the command line; throws with the usage when it is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      sample: { type: 'string', default: '200' },
      file: { type: 'string', multiple: true, default: [] },
      list: { type: 'boolean', default: false },
    },
  });
  const number = (text: string): number => {
    const value = Number(text);
    if (text === '' || !Number.isFinite(value) || value < 0) throw new Error(usage);
    return value;
  };
  return {
    minutes: number(values.minutes),
    seed: number(values.seed),
    sample: number(values.sample),
    files: values.file,
    list: values.list,
  };
}
