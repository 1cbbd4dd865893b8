import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { refuseOthersFolder } from './own-folder.ts';
import { UsageError } from './run.ts';

/** State of `signet dev` for programs: the line of `--json`, and the file `dev.json`. Paths are absolute, certificates PEM chains. */
const schema = z.object({
  baseUrl: z.url(),
  managementUrl: z.url(),
  caBundle: z.string(),
  policyDir: z.string(),
  providerUrl: z.url(),
  /** Link to the console of an administrator: whoever has it acts as that one. */
  consoleUrl: z.url(),
  serverPid: z.int(),
  updaterPid: z.int(),
  providerPid: z.int(),
  consolePid: z.int(),
  identities: z.record(z.string(), z.object({ cert: z.string(), key: z.string() })),
});

export type DevState = z.output<typeof schema>;

/** Reads the `dev.json` of a world. Throws `UsageError`, which names the options that do without, when there is none. */
export function readDevState(folder: string, options = '--cert, --key, --ca and --url'): DevState {
  refuseOthersFolder(folder, 'use `--data` with a folder that you own');
  const file = join(folder, 'dev.json');
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new UsageError(`\`${file}\` cannot be read: start \`npm start\`, or give ${options}`, {
      cause,
    });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new UsageError(`\`${file}\` is not a file of \`signet dev\``);
  return parsed.data;
}
