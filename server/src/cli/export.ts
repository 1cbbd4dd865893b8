import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { ConflictError, UnknownDomainError } from '../errors.ts';
import { exportDomain } from '../management/export-domain.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import type { Store } from '../store/store.ts';
import { action, configPathOf, print } from './run.ts';

interface ExportOptions {
  readonly domain?: string;
  readonly force?: boolean;
}

/** `signet export`: the store as documents. */
export function exportCommand(): Command {
  return new Command('export')
    .description('write the domains of the store as documents; applied again they change nothing')
    .argument('[dir]', 'folder for <domain>.yaml (default: standard output)')
    .option('--domain <name>', 'only this domain')
    .option('--force', 'write over files that are there')
    .action(action(exportDocuments));
}

async function exportDocuments(folder: string | undefined, options: ExportOptions, command: Command): Promise<void> {
  const { storeFile } = loadConfig(configPathOf(command), processEnvironment());
  const store = await openSqliteStore(storeFile, { readonly: true });
  try {
    const documents = await documentsOf(store, options.domain);
    if (folder === undefined) process.stdout.write(documents.map(({ text }) => text).join('---\n'));
    else writeDocuments(folder, documents, options.force === true);
  } finally {
    await store.close();
  }
}

interface NamedDocument {
  readonly file: string;
  readonly text: string;
}

async function documentsOf(store: Store, only: string | undefined): Promise<NamedDocument[]> {
  const wanted = only === undefined ? undefined : parseDomainName(only);
  const { domains } = await store.changesSince();
  const found = domains.filter(({ name }) => wanted === undefined || name === wanted);
  if (wanted !== undefined && found.length === 0) throw new UnknownDomainError(wanted);
  return found.map((domain) => ({ file: `${domain.name}.yaml`, text: exportDomain(domain) }));
}

function writeDocuments(folder: string, documents: readonly NamedDocument[], force: boolean): void {
  mkdirSync(folder, { recursive: true });
  const present = documents.find(({ file }) => existsSync(join(folder, file)));
  if (present !== undefined && !force) {
    throw new ConflictError(`\`${join(folder, present.file)}\` is there already: --force writes over it`);
  }
  for (const { file, text } of documents) {
    writeFileSync(join(folder, file), text);
    print(join(folder, file), false);
  }
}
