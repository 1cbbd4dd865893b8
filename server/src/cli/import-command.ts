import { createReadStream } from 'node:fs';
import { Command } from 'commander';
import { InvalidRequestError, TooLargeError } from '../errors.ts';
import { formatNotice } from '../management/athenz/findings.ts';
import { importDomain } from '../management/athenz/import-domain.ts';
import { parseZmsKeys, type ZmsKeys } from '../management/athenz/verify-export.ts';
import { documentOf, exportDomain } from '../management/export-domain.ts';
import { action, print, printRaw, UsageError, warn } from './run.ts';
import { writeOutput } from './written-output.ts';

interface ImportOptions {
  readonly out?: string;
  readonly force?: boolean;
  readonly keys?: string;
  readonly json?: boolean;
}

/** `signet import athenz`: what another system says, as documents. */
export function importCommand(): Command {
  const command = new Command('import').description('convert an export of another system to domain documents');
  command
    .command('athenz')
    .description('convert an Athenz domain to a domain document; skipped parts are listed on standard error')
    .argument('<file>', 'output of `zms-cli export-domain` or `show-domain`, or a JWS of ZMS; `-`: standard input')
    .option('--out <file>', 'output file (mode 0600; default: standard output)')
    .option('--force', 'overwrite the file of --out')
    .option(
      '--keys <file>',
      'public keys of ZMS, as a JWK Set or athenz.conf; the input must be a JWS signed with one of them',
    )
    .option('--json', 'print JSON: the document and the skipped parts')
    .action(action(importAthenz));
  return command;
}

async function importAthenz(file: string, options: ImportOptions): Promise<void> {
  const { out, force = false } = options;
  if (force && out === undefined) throw new UsageError('--force requires --out');
  const keys = await keysOf(options);
  const { content, notices, signature } = await named(file, async () =>
    importDomain(file, await readInput(file), keys),
  );
  if (out !== undefined) await writeOutput(out, exportDomain(content), { force });
  for (const notice of notices) warn(formatNotice(notice));
  if (signature.kind === 'not-verified')
    warn('the signature was not verified: give the public keys of ZMS with `--keys`');
  if (options.json === true) print({ document: documentOf(content), notices, signature }, true);
  else if (out === undefined) printRaw(exportDomain(content));
}

async function keysOf({ keys: file }: ImportOptions): Promise<ZmsKeys | undefined> {
  return file === undefined ? undefined : await named(file, async () => parseZmsKeys(await readInput(file)));
}

/** Adds the file's name to errors of `work`. */
async function named<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    throw new InvalidRequestError(`\`${file}\`: ${error.message}`, { cause: error });
  }
}

const maxInputBytes = 16 * 1024 * 1024;

/** The text of a file, or of standard input. Throws `InvalidRequestError`, and `TooLargeError` before it has read more. */
async function readInput(file: string): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const input = file === '-' ? process.stdin : createReadStream(file);
  let [text, length] = ['', 0];
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxInputBytes) throw new TooLargeError(`\`${file}\` is larger than 16 MiB`);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) throw new InvalidRequestError('is not UTF-8 text', { cause: error });
    throw error;
  } finally {
    input.destroy();
  }
}
