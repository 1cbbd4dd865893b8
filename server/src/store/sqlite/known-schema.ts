import type Database from 'better-sqlite3';
import { z } from 'zod';
import { StoreRefusedError } from '../../errors.ts';
import { markTable, partialCopy } from '../copy/copy-mark.ts';
import { refuseOtherSteps } from '../known-steps.ts';
import { type SchemaStep, schemaSteps } from '../schema-steps.ts';
import { sealTableDefinitions } from './backup-seal.ts';
import { openForReading } from './connect.ts';
import { sealTable } from './digest.ts';

/* Known schemas. A trigger, a view or another definition of a table changes the meaning of a statement of this program. So a store holds
   exactly the definitions of the migrations, and one with any other is not opened. */

/** Definitions by type and name, e.g. `table roles`. */
type Definitions = ReadonlyMap<string, string>;

/** Definitions of a store after its first step, its second, and so on; first of all those before any. */
export type KnownSchemas = readonly Definitions[];

/** A value that is not a string was put in by another program, and fits no definition. */
const text = z.string().catch('(not a string)');
const objectRows = z.array(z.object({ type: text, name: text, tbl_name: text, sql: text.nullable() }));
const nameRows = z.array(z.object({ name: z.string() }));

let known: KnownSchemas | undefined;

/** The schemas that this program makes: those of an empty store, one step after the other. */
export function knownSchemas(): KnownSchemas {
  known ??= followSteps(schemaSteps);
  return known;
}

function followSteps(steps: readonly SchemaStep[]): KnownSchemas {
  const definitions = new Map<string, string>();
  return steps.map(({ made, gone }) => {
    for (const object of gone) definitions.delete(object);
    for (const { object, definition } of made) definitions.set(object, definition);
    return new Map(definitions);
  });
}

/** Every object of the schema, with the table that it belongs to and its text. Indices that SQLite makes by itself have none. */
export function readDefinitions(database: Database.Database, schema: 'main' | 'replaced' = 'main'): Definitions {
  const rows = database.prepare(`select type, name, tbl_name, sql from ${schema}.sqlite_schema`).all();
  const definitions = new Map<string, string>();
  for (const { type, name, tbl_name: table, sql } of objectRows.parse(rows)) {
    const object = `${type} ${name}`;
    // A duplicate has both definitions, and so none that is known.
    definitions.set(object, `${definitions.get(object) ?? ''}${table}: ${sql ?? ''}`);
  }
  return definitions;
}

/**
 * Refuses a store of a newer program (with `current` also one of an older program), and one whose schema is not the one that its
 * steps make: another table, index, view or trigger, another definition, one that is missing; and but with `partial-copy` one that a copy has
 * not filled yet. Throws `StoreRefusedError`.
 */
export function checkSchema(
  database: Database.Database,
  file: string,
  schemas: KnownSchemas,
  want: 'current' | 'older-is-fine' | 'partial-copy' = 'current',
): void {
  // Single read: another process may be bringing the schema up to date.
  const [applied, found] = database.transaction(() => [appliedSteps(database), readDefinitions(database)] as const)();
  if (found.has(`table ${markTable}`) && want !== 'partial-copy') throw partialCopy(file);
  refuseOtherSteps(applied, file, want === 'older-is-fine' ? want : 'current');
  const expected = schemas[applied.length] ?? new Map();
  for (const [object, definition] of found) {
    if (isSealTable(object, definition) || object === `table ${markTable}`) continue;
    if (!expected.has(object)) throw foreign(file, `holds ${object}, which no version of this program makes`);
    if (expected.get(object) !== definition) throw foreign(file, `has another definition of ${object}`);
  }
  // A first start makes the tables of the steps one after the other.
  const missing = applied.length > 0 && [...expected.keys()].find((object) => !found.has(object));
  if (typeof missing === 'string') throw foreign(file, `lacks ${missing}`);
  refuseOtherHeader(database, file);
}

/** True if the tables of `replaced` are those of this program: rows of another have another meaning. */
export function hasTablesOf(database: Database.Database, schemas: KnownSchemas): boolean {
  const found = readDefinitions(database, 'replaced');
  const tables = [...(schemas.at(-1) ?? [])].filter(([object]) => object.startsWith('table '));
  return tables.every(([object, definition]) => found.get(object) === definition);
}

function isSealTable(object: string, definition: string): boolean {
  return object === `table ${sealTable}` && sealTableDefinitions.some((sql) => definition === `${sealTable}: ${sql}`);
}

/** Header fields of the file beside the schema, as SQLite makes them. */
const header = { user_version: 0, application_id: 0, encoding: 'UTF-8' } as const;

function refuseOtherHeader(database: Database.Database, file: string): void {
  for (const [name, value] of Object.entries(header)) {
    if (database.pragma(name, { simple: true }) !== value) throw foreign(file, `has another ${name} than \`${value}\``);
  }
}

function foreign(file: string, what: string): StoreRefusedError {
  const help = 'restore a backup, or undo it with `sqlite3` when you know who did it';
  return new StoreRefusedError('foreign-schema', `store \`${file}\` ${what}: ${help}`);
}

/** The steps that a store has seen, in their order. */
export function appliedSteps(database: Database.Database, schema: 'main' | 'replaced' = 'main'): readonly string[] {
  const table = database.prepare(`select 1 from ${schema}.sqlite_schema where name = 'kysely_migration'`).get();
  if (table === undefined) return [];
  const rows = database.prepare(`select name from ${schema}.kysely_migration order by name`).all();
  return nameRows.parse(rows).map(({ name }) => name);
}

/** Applied steps of a store's file; also where its schema is unusable for this program. */
export function appliedSqliteSteps(file: string): readonly string[] {
  const database = openForReading(file);
  try {
    return appliedSteps(database);
  } finally {
    database.close();
  }
}
