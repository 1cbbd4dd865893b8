import type { Store, StoreChanges } from '@signet/server/model/store';

/** Everything in a store, for tests that look at all of it. */
export function contentsOf(store: Pick<Store, 'everything'>): Promise<StoreChanges> {
  return store.everything(async ({ state, domains, signingKeys }) => {
    return { state, domains: (await Array.fromAsync(domains)).flat(), deleted: [], signingKeys };
  });
}
