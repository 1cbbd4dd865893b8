import { unpackDomain } from '@signet/server/model/packed-members';
import { isGap } from '@signet/server/model/snapshot-source';
import type { Knows, Store, StoreChanges, StoreState } from '@signet/server/model/store';

/** Contents of a store, for tests that examine all of it. */
export function contentsOf(store: Pick<Store, 'everything'>): Promise<StoreChanges> {
  return store.everything(async ({ state, domains, signingKeys }) => {
    return { state, domains: (await Array.fromAsync(domains)).flat().map(unpackDomain), deleted: [], signingKeys };
  });
}

/** Changes after a state; undefined where a store does not tell. */
export async function changesAfter(
  store: Pick<Store, 'changesSince'>,
  known: StoreState,
  knows?: Knows,
): Promise<StoreChanges | undefined> {
  const answer = await store.changesSince(known, knows);
  return isGap(answer) ? undefined : answer;
}
