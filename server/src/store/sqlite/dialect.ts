import type Database from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { LockPatience } from './lock.ts';

/**
 * SQLite for the query layer, with three differences. A transaction takes the write lock when it begins and waits for it without
 * holding up the process (SQLite's own waiting would stop every request). Schema changes run inside transactions, which SQLite
 * can do. Statements are prepared once.
 */
export class SignetSqliteDialect extends SqliteDialect {
  readonly #database: Database.Database;
  readonly #statements: SqliteDatabase;
  readonly #begin: string;
  readonly #patience: LockPatience;

  constructor(database: Database.Database, use: 'reads' | 'changes', patience: LockPatience = new LockPatience()) {
    const statements = cachingStatements(database);
    super({ database: statements });
    this.#database = database;
    this.#statements = statements;
    this.#begin = use === 'changes' ? 'begin immediate' : 'begin';
    this.#patience = patience;
  }

  override createDriver(): Driver {
    return new PatientDriver(this.#database, this.#statements, this.#begin, this.#patience);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter();
  }
}

class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class PatientDriver extends SqliteDriver {
  readonly #database: Database.Database;
  readonly #begin: string;
  readonly #patience: LockPatience;

  constructor(database: Database.Database, statements: SqliteDatabase, begin: string, patience: LockPatience) {
    super({ database: statements });
    this.#database = database;
    this.#begin = begin;
    this.#patience = patience;
  }

  /** SQLite has rolled back by itself after some errors (a full disk): the error is then what matters, not that. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#patience.waitFor(() => connection.executeQuery(CompiledQuery.raw(this.#begin)));
  }
}

function cachingStatements(database: Database.Database): SqliteDatabase {
  const statements = new LRUCache<string, SqliteStatement>({ max: 200 });
  return {
    close: () => void database.close(),
    prepare: (sql) => {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      const statement: Database.Statement<unknown[]> = database.prepare(sql);
      const prepared: SqliteStatement = {
        reader: statement.reader,
        all: (parameters) => statement.all(...parameters),
        run: (parameters) => statement.run(...parameters),
        iterate: (parameters) => statement.iterate(...parameters),
      };
      statements.set(sql, prepared);
      return prepared;
    },
  };
}
