import type { Kysely } from 'kysely';
import type { Schema } from '../database-schema.ts';

/** A store at one end of a copy. */
export interface CopyEnd {
  /** Place for messages; names no user and no password. */
  readonly place: string;
  /** Runs `work` on the store as of one instant, however long it takes. */
  snapshot<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result>;
  /** Throws `ConflictError` when a server uses the store, where none may and nothing else keeps them out. */
  requireUnused?(): Promise<void>;
  close(): Promise<void>;
}

/** A store that is written. No server has it open. */
export interface CopyTarget extends CopyEnd {
  /** Runs `work` in one transaction that no server writes beside; on the disk when fulfilled. */
  change<Result>(work: (db: Kysely<Schema>) => Promise<Result>): Promise<Result>;
  /** True if it holds the mark of a copy that is not complete. */
  isMarked(db: Kysely<Schema>): Promise<boolean>;
  /** Called with the final position of the store, before the transaction that makes it complete is committed. */
  completing?(position: { readonly epoch: number; readonly sequence: number; readonly head: string }): void;
}
