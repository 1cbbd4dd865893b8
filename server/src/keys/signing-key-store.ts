import type { Store } from '../store/store.ts';
import type { SigningKeyStore } from './rotate-keys.ts';

/** The signing keys of a store, each change in a transaction of its own and in the name of `actor`. */
export function signingKeyStore(store: Store, actor: string): SigningKeyStore {
  return {
    signingKeys: () => store.signingKeys(),
    addSigningKey: (record) => store.change({ actor }, (transaction) => transaction.addSigningKey(record)),
  };
}
