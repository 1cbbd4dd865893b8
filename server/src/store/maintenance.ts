/* What commands do with a store that nobody serves, or beside those who do: the part that depends on the kind of database. */

export { compareStores, copyStore } from './copy-store.ts';
export { acceptLoss } from './sqlite/accept-loss.ts';
export { backUpStore } from './sqlite/backup.ts';
export { checkStore, type StoreCheck } from './sqlite/check.ts';
export { type BackupProof, restoreStore } from './sqlite/restore.ts';
export { ensureSealKey, readSealKey, sealKeyName } from './sqlite/seal-key.ts';
