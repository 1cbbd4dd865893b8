import { basename, dirname, join } from 'node:path';
import { lockFile } from '@signet/policy-engine/internal/files';
import { ConflictError } from '../errors.ts';

/** Timeout, longer than other commands' work on the file. */
const waitMs = 10_000;

/**
 * Runs `work`, which reads a file and writes what follows from that, while no other command does so. Throws `ConflictError` when another one
 * does for longer than a wait.
 */
export async function whileAlone<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  await using lock = await lockFile(join(dirname(file), `.${basename(file)}.lock`), { waitMs });
  if (lock === undefined)
    throw new ConflictError(`another command is changing \`${file}\`: try again when it has finished`);
  return await work();
}
