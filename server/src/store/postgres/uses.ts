import type { PostgresSettings } from '../../config/store-place.ts';
import type { TransactionUse } from './postgres-queries.ts';

/**
 * Key of the advisory lock that orders changes: a change of what a right depends on holds it exclusively, a record of what a right was asked for
 * (certificates, instances, join tokens) shares it. Waiters are served in order, so neither kind starves the other.
 */
const orderLock = 6_000_600;
/** The wait for others, in milliseconds; see `StoreDatabase`. */
const lockTimeoutMs = 5000;
/** Timeout of an idle transaction, in milliseconds: a server that stops in the middle of one blocks the others for that long. */
const idleTimeoutMs = 10_000;
/** Reads of everything yield to requests between their statements. */
const idleViewTimeoutMs = 120_000;
const viewStatementMs = 120_000;
/** Timeout of copies: the other end may be slow, and statements go over whole tables. */
const copyMs = 3_600_000;

/** Uses of a store's connections. */
export interface Uses {
  /** Statements of their own. */
  readonly reads: TransactionUse;
  /** Many statements as of one instant. */
  readonly views: TransactionUse;
  /** Changes beside others of their kind. */
  readonly shared: TransactionUse;
  /** The same, durable with the next one that is not deferred. */
  readonly deferred: TransactionUse;
  /** Changes that exclude all concurrent changes and records. */
  readonly alone: TransactionUse;
  /** All of the store as of one instant, however long that takes. */
  readonly snapshots: TransactionUse;
  /** Writes all of the store, alone. */
  readonly fills: TransactionUse;
}

const copyLimits = `set local statement_timeout = ${copyMs}; set local idle_in_transaction_session_timeout = ${copyMs}`;

export function usesOf({ statementTimeoutMs }: PostgresSettings): Uses {
  // The timeout of this process ends after the one of the database: the answer of the database says more.
  const timeoutMs = statementTimeoutMs + lockTimeoutMs + 1000;
  const limits = `set local statement_timeout = ${statementTimeoutMs + lockTimeoutMs}; set local lock_timeout = ${lockTimeoutMs};
    set local idle_in_transaction_session_timeout = ${idleTimeoutMs}`;
  // Snapshot per statement: commits of others are seen once their lock is free.
  const begin = `begin isolation level read committed; ${limits}`;
  const shared = `${begin}; select pg_advisory_xact_lock_shared(${orderLock})`;
  return {
    reads: { begin: 'begin', commit: 'commit', timeoutMs: statementTimeoutMs },
    views: {
      begin: `begin isolation level repeatable read read only; set local statement_timeout = ${viewStatementMs};
        set local idle_in_transaction_session_timeout = ${idleViewTimeoutMs}`,
      commit: 'commit',
      timeoutMs: viewStatementMs + 1000,
    },
    shared: { begin: shared, commit: 'commit', timeoutMs },
    deferred: { begin: `${shared}; set local synchronous_commit = off`, commit: 'commit', timeoutMs },
    alone: {
      // The row is locked as well: who changes it by hand waits, too.
      begin: `${begin}; select pg_advisory_xact_lock(${orderLock}); select id from meta where id = 1 for update`,
      commit: 'commit',
      timeoutMs,
    },
    snapshots: {
      begin: `begin isolation level repeatable read read only; ${copyLimits}`,
      commit: 'commit',
      timeoutMs: copyMs + 1000,
    },
    fills: {
      begin: `begin isolation level read committed; ${copyLimits}; set local lock_timeout = ${lockTimeoutMs};
        select pg_advisory_xact_lock(${orderLock})`,
      commit: 'commit',
      timeoutMs: copyMs + 1000,
    },
  };
}
