import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { checkDocuments } from '../management/check-documents.ts';
import { readDocumentFolder } from '../management/documents/read-folder.ts';
import { decidingSnapshot, noStore } from '../management/stored-world.ts';
import type { Store } from '../model/store.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { openStore } from '../store/open.ts';

/** Snapshot for a query about access. */
interface SnapshotSource {
  /** A folder with documents; without it the store of the configuration is asked. */
  readonly documents?: string | undefined;
  readonly configFile: () => string;
  /** The domain that it is about; absent: about all. */
  readonly domain?: DomainName | undefined;
  /** Principal that is asked about; absent: every principal. */
  readonly principal?: PrincipalName | undefined;
}

/** A snapshot of what decides about the domain: itself, and all that it depends on. */
export async function readSnapshotOf(source: SnapshotSource, now: number): Promise<Snapshot> {
  const { documents, configFile, domain, principal } = source;
  if (documents !== undefined) return checkDocuments(readDocumentFolder(documents).documents, noStore, now).snapshot;
  const { store: place } = loadConfig(configFile(), processEnvironment());
  const store = await openStore(place, { readonly: true });
  try {
    const names = domain === undefined ? await store.domainNames() : [domain];
    return await snapshotIn(store, names, principal === undefined ? [] : [principal]);
  } finally {
    await store.close();
  }
}

/** A snapshot of what decides about these domains of a store, also for who is asked about. */
export async function snapshotIn(
  store: Pick<Store, 'view'>,
  names: readonly DomainName[],
  asked: readonly PrincipalName[] = [],
): Promise<Snapshot> {
  return store.view((reader) => decidingSnapshot(reader, names, asked));
}
