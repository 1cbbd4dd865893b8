import type { Store } from '../model/store.ts';
import type { SigningKeyStore } from './rotate-keys.ts';

/** The signing keys of a store, each change in a transaction of its own and in the name of `actor`. */
export function signingKeyStore(store: Store, actor: string, reason?: string): SigningKeyStore {
  const context = { actor, ...(reason !== undefined && { reason }) };
  return {
    signingKeys: () => store.signingKeys(),
    sealedKeys: () => store.sealedKeys(),
    change: (work) => store.change(context, work),
  };
}
