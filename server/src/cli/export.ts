import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { UnknownDomainError } from '../errors.ts';
import { documentName } from '../management/documents/read-folder.ts';
import { documentOf, exportDomain } from '../management/export-domain.ts';
import { unpackDomain } from '../model/packed-members.ts';
import type { DomainRecord } from '../model/records.ts';
import type { Store } from '../model/store.ts';
import type { OnProgress } from '../steps/progress.ts';
import { openStore } from '../store/open.ts';
import { schemaHeader, writeSchemas } from './config/schema-files.ts';
import { withProgress } from './progress.ts';
import { action, configPathOf, print, printRaw } from './run.ts';
import { outputFolder, refuseExisting, writeOutput } from './written-output.ts';

interface ExportOptions {
  readonly domain?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `signet export`: the store as documents. */
export function exportCommand(): Command {
  return new Command('export')
    .description('write the domains in the store as domain documents; applying them unchanged has no effect')
    .argument('[dir]', 'folder for <domain>.yaml (default: standard output)')
    .option('--domain <name>', 'only this domain')
    .option('--force', 'overwrite existing files')
    .option('--json', 'print JSON: the documents, or the files written')
    .action(action(exportDocuments));
}

async function exportDocuments(folder: string | undefined, options: ExportOptions, command: Command): Promise<void> {
  const { store: place } = loadConfig(configPathOf(command), processEnvironment());
  const store = await openStore(place, { readonly: true });
  try {
    const documents = await documentsOf(store, options.domain);
    if (folder !== undefined) {
      const force = options.force === true;
      const files = await withProgress((onProgress) => writeDocuments(folder, documents, { force, onProgress }));
      print(files, options.json);
    } else if (options.json === true) {
      print(documents.map(documentOf), true);
    } else {
      printRaw(documents.map(exportDomain).join('---\n'));
    }
  } finally {
    await store.close();
  }
}

async function documentsOf(store: Store, only: string | undefined): Promise<readonly DomainRecord[]> {
  if (only === undefined) {
    return store.everything(async ({ domains }) => (await Array.fromAsync(domains)).flat().map(unpackDomain));
  }
  const name = parseDomainName(only);
  const domain = await store.domain(name);
  if (domain === undefined) throw new UnknownDomainError(name);
  return [domain];
}

/** Answers the files. */
async function writeDocuments(
  name: string,
  domains: readonly DomainRecord[],
  { force, onProgress }: { readonly force: boolean; readonly onProgress: OnProgress },
): Promise<string[]> {
  const folder = outputFolder(name);
  const files = domains.map((domain) => ({
    file: join(folder, documentName(domain.name)),
    text: `${schemaHeader('domain')}${exportDomain(domain)}`,
  }));
  // Before the first one is written.
  for (const { file } of force ? [] : files) refuseExisting(file);
  await writeSchemas(folder, { names: ['domain', 'policy-tests'], force });
  for (const [index, { file, text }] of files.entries()) {
    await writeOutput(file, text, { force });
    onProgress('writing documents', index + 1, files.length);
  }
  return files.map(({ file }) => file);
}
