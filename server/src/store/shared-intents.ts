import { ConflictError } from '../errors.ts';
import { intendStatement, type NewCertificate } from './certificate-statements.ts';
import type { GuardedDatabase } from './guarded-database.ts';

/** Upper bound of the rows of one statement; there is one for each number of rows. */
const rowsAtOnce = 16;

interface Batch {
  readonly rows: NewCertificate[];
  readonly written: Promise<void>;
}

/** Writes down what is about to be signed. Those asked for before the database has begun come along in one statement. */
export class SharedIntents {
  readonly #database: GuardedDatabase;
  readonly #statements = Array.from({ length: rowsAtOnce }, (_, others) => intendStatement(others + 1));
  /** The batch that more may join. */
  #open: Batch | undefined;

  constructor(database: GuardedDatabase) {
    this.#database = database;
  }

  /** Throws `ConflictError` when there is a certificate with this serial number. */
  async write(row: NewCertificate): Promise<void> {
    const batch = this.#open ?? this.#begin();
    batch.rows.push(row);
    this.#open = batch.rows.length < rowsAtOnce ? batch : undefined;
    try {
      await batch.written;
    } catch (error) {
      // None of the batch is there. Whose serial number it is shows when each is written alone.
      if (batch.rows.length === 1 || !(error instanceof ConflictError)) throw error;
      await this.#insert([row]);
    }
  }

  #begin(): Batch {
    const rows: NewCertificate[] = [];
    // A transaction that cannot begin never reaches the statement: later callers must not get its error.
    return { rows, written: this.#insert(rows).finally(() => this.#close(rows)) };
  }

  /** Closes the batch: no more rows join it. */
  #close(rows: readonly NewCertificate[]): void {
    if (this.#open?.rows === rows) this.#open = undefined;
  }

  // The certificates do not exist yet, and are handed out after they were confirmed: that transaction makes this one durable.
  #insert(rows: readonly NewCertificate[]): Promise<void> {
    return this.#database.change(async (db) => {
      this.#close(rows);
      const { numAffectedRows: inserted } = (await this.#statements[rows.length - 1]?.execute(db, rows)) ?? {};
      if (inserted !== BigInt(rows.length)) throw new ConflictError('a certificate with this serial number exists');
    }, 'deferred');
  }
}
