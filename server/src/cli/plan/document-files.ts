import { basename } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import type { Command } from 'commander';
import { InvalidRequestError } from '../../errors.ts';
import { documentName, type FolderFile, isCaseFile, readFolderFiles } from '../../management/documents/read-folder.ts';
import { UsageError } from '../run.ts';

/** Options of every command that reads a folder of documents. */
export interface FolderOptions {
  readonly domain?: readonly string[];
}

/** Adds `--domain` to a command that reads a folder of documents. */
export function folderOptions(command: Command): Command {
  return command.option(
    '--domain <name>',
    'only the files of this domain; may be repeated',
    (name, names: string[] = []) => [...names, name],
  );
}

/** The files of a folder, or those of some domains. Throws `UsageError` for a domain without a file, `InvalidRequestError`. */
export function chosenFiles(folder: string, { domain: domains }: FolderOptions): FolderFile[] {
  const files = readFolderFiles(folder);
  if (domains === undefined) return files;
  const byStem = Map.groupBy(files, ({ file }) => stemOf(basename(file)));
  return [...new Set(domains)].flatMap((name) => {
    const chosen = byStem.get(stemOf(documentName(parseDomainName(name, '--domain'))));
    if (chosen === undefined) throw new UsageError(`--domain: folder \`${folder}\` has no file of \`${name}\``);
    return chosen;
  });
}

/** The same of a folder that must hold documents. Throws `InvalidRequestError` where it holds policy tests at most. */
export function documentFiles(folder: string, options: FolderOptions): FolderFile[] {
  const files = chosenFiles(folder, options);
  if (files.some(({ file }) => !isCaseFile(file))) return files;
  throw new InvalidRequestError(`folder \`${folder}\` holds no documents`);
}

/** `films` of `films.yaml` and of `films.cases.yaml`. */
function stemOf(file: string): string {
  return file.replace(isCaseFile(file) ? /\.cases\.ya?ml$/ : /\.ya?ml$/, '').toLowerCase();
}
