/* Maintenance commands on a store that is not served, or beside its servers: the part that depends on the kind of database. */

export { backUp, check, restore } from './backups.ts';
export { compareStores, copyStore } from './copy-store.ts';
export { migrateStore } from './migrate-store.ts';
export { acceptLoss } from './sqlite/accept-loss.ts';
export type { StoreCheck } from './sqlite/check.ts';
export type { BackupProof } from './sqlite/restore.ts';
export { ensureSealKey, readSealKey, sealKeyName } from './sqlite/seal-key.ts';
export { readStoreStatus, type StoreStatus } from './store-status.ts';
