import { type DomainName, foldAscii } from '@signet/policy-engine/names';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { checkDocuments } from '../management/check-documents.ts';
import { readDocumentFolder } from '../management/documents/read-folder.ts';
import { noStore, snapshotOf, withNeeded } from '../management/stored-world.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { openStore } from '../store/open.ts';

/** What a question about a resource `domain:entity` may be put to. */
interface SnapshotSource {
  /** A folder with documents; without it the store of the configuration is asked. */
  readonly documents?: string | undefined;
  readonly configFile: () => string;
  readonly resource: string;
}

/** A snapshot of what decides about the resource: its domain, and all that this depends on. */
export async function readSnapshotOf(source: SnapshotSource, now: number): Promise<Snapshot> {
  const { documents, configFile, resource } = source;
  if (documents !== undefined) return checkDocuments(readDocumentFolder(documents).documents, noStore, now).snapshot;
  const { store: place } = loadConfig(configFile(), processEnvironment());
  const store = await openStore(place, { readonly: true });
  try {
    // Only looked up: a text that is not a domain name finds no domain.
    const domain = foldAscii(resource.slice(0, Math.max(resource.indexOf(':'), 0))) as DomainName;
    return await store.view(async (reader) =>
      snapshotOf({
        domains: await withNeeded(reader, new Map(), [domain]),
        switchedOff: await reader.switchedOff(),
      }),
    );
  } finally {
    await store.close();
  }
}
