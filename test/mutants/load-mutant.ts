/* Loaded before everything else (`--import`) by the processes that test a mutant: gives them one source file with a change in it. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Where a process finds the mutant that it is to run. */
export const mutantVariable = 'SIGNET_MUTANT';

/** A source file and the text that takes its place. */
export interface Mutant {
  readonly url: string;
  readonly source: string;
}

const file = process.env[mutantVariable];
if (file !== undefined) {
  const mutant: Mutant = JSON.parse(readFileSync(file, 'utf8'));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      return url === mutant.url ? { ...loaded, source: mutant.source } : loaded;
    },
  });
}
