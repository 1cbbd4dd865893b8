import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { checkDocuments } from '../management/apply-documents.ts';
import { readDocumentFolder } from '../management/documents/read-folder.ts';
import { noStore } from '../management/stored-world.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';

/** The snapshot that the documents of a folder make, or, without a folder, that of the store of the configuration. */
export async function readSnapshotOf(
  documents: string | undefined,
  configFile: () => string,
  now: number,
): Promise<Snapshot> {
  if (documents !== undefined) return checkDocuments(readDocumentFolder(documents).documents, noStore, now).snapshot;
  const { storeFile } = loadConfig(configFile(), processEnvironment());
  const store = await openSqliteStore(storeFile, { readonly: true });
  try {
    const { snapshot, problems } = compileSnapshot(undefined, await store.changesSince());
    const [problem] = problems;
    if (problem !== undefined) throw problem.error;
    return snapshot;
  } finally {
    await store.close();
  }
}
