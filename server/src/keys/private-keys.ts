import type { KeyObject } from 'node:crypto';
import { ConflictError } from '../errors.ts';
import type { SealedKey, SigningKeyRecord } from '../model/records.ts';
import { isGap } from '../model/snapshot-source.ts';
import type { SnapshotSource } from '../model/store.ts';
import { keyFilesIn } from './key-files.ts';
import type { KeyName, Sealing } from './sealing.ts';

/** Storage of the private halves of signing keys: files of this machine, or sealed in the store. */
export interface PrivateKeys {
  /** Looks again at what `read` answers of. */
  load(): Promise<void>;
  /** True if `load` is needed before this key can be read. */
  lacks(kid: string): boolean;
  /** The private half, or undefined when it is not here. Throws when it cannot be used. */
  read(name: KeyName): KeyObject | undefined;
  /** Keeps the private half of a new key. What it answers goes into the store, in the transaction that adds the record. */
  keep(name: KeyName, privateKey: KeyObject): Promise<SealedKey | undefined>;
  /** Discards a key that did not get into the store. */
  discard(kid: string): Promise<void>;
}

/** A file for each key, which is on the disk before its record is in the store. */
export function keysInFiles(folder: string): PrivateKeys {
  const files = keyFilesIn(folder);
  return {
    load: () => Promise.resolve(),
    lacks: () => false,
    read: ({ kid }) => files.read(kid),
    async keep({ kid }, privateKey) {
      await files.write(kid, privateKey);
      return undefined;
    },
    discard: (kid) => files.remove(kid),
  };
}

interface SealedKeyStore {
  signingKeys(): Promise<readonly SigningKeyRecord[]>;
  sealedKeys(): Promise<ReadonlyMap<string, SealedKey>>;
}

interface StoredKeysDeps {
  readonly store: SealedKeyStore;
  readonly sealing: Sealing;
  /** True if keys that were sealed with a lost sealing key are given up: else none is made beside them. */
  readonly givesUpLost?: boolean | undefined;
}

/** Private halves in the rows of their records, for every server that has the sealing key. */
export function keysInStore({ store, sealing, givesUpLost = false }: StoredKeysDeps): PrivateKeys {
  let sealed: ReadonlyMap<string, SealedKey> = new Map();
  const load = async (): Promise<void> => {
    sealed = await store.sealedKeys();
  };
  return {
    load,
    lacks: (kid) => !sealed.has(kid),
    read(name) {
      const half = sealed.get(name.kid);
      return half && sealing.open(name, half);
    },
    async keep(name, privateKey) {
      await load();
      const newest = (await store.signingKeys())
        .filter(({ kid }) => sealed.has(kid))
        .reduce<SigningKeyRecord | undefined>(
          (a, b) => (a === undefined || b.createdAt > a.createdAt ? b : a),
          undefined,
        );
      const half = newest && sealed.get(newest.kid);
      if (half !== undefined && !givesUpLost && !sealing.knows(half.sealingKey)) throw otherSealingKey(half.sealingKey);
      return sealing.seal(name, privateKey);
    },
    discard: () => Promise.resolve(),
  };
}

/** Error for another sealing key: other servers could not open what this program would seal. */
function otherSealingKey(id: string): ConflictError {
  return new ConflictError(
    `the signing keys are sealed with the sealing key \`${id}\`, which is not configured here: no key was created; ` +
      'set keys.sealingKeyFile or keys.previousSealingKeyFiles to its file',
  );
}

/** The same source; the private halves of new keys are loaded before a snapshot that has their records is answered. */
export function withPrivateKeys(
  source: SnapshotSource,
  privateKeys: Pick<PrivateKeys, 'load' | 'lacks'>,
  onError: (error: unknown) => void,
): SnapshotSource {
  const load = () => privateKeys.load().catch(onError);
  return {
    state: () => source.state(),
    async changesSince(known, knows) {
      const changes = await source.changesSince(known, knows);
      if (!isGap(changes) && changes.signingKeys.some(({ kid }) => privateKeys.lacks(kid))) await load();
      return changes;
    },
    async everything(work) {
      const result = await source.everything(work);
      await load();
      return result;
    },
  };
}
