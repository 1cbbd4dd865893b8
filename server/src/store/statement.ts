import { type Compilable, type Kysely, type QueryResult, type RawBuilder, sql } from 'kysely';
import type { Schema } from './database-schema.ts';

/** Values of a statement's parameters. */
type StatementValue = string | number | null;

/** Values that fill a statement's parameters at each execution, by name. */
export interface Places<Values> {
  at<Name extends keyof Values>(name: Name): RawBuilder<Values[Name]>;
}

/** A statement of the query layer that is put into words once, however often it is executed. */
export interface Statement<Values, Row> {
  execute(db: Kysely<Schema>, values: Values): Promise<QueryResult<Row>>;
}

/** A place that is filled with what `read` finds in the values of an execution. */
type Place<Values> = <Value>(read: (values: Values) => Value) => RawBuilder<Value>;

type RowValues<Values> = Readonly<Record<keyof Values, StatementValue>>;

/**
 * A statement as `build` says it. Building and compiling cost more than what the database does for a row, so what was compiled at the
 * first execution is kept: every `db` given later must be of the same kind of database.
 */
export function statement<Values extends RowValues<Values>, Row>(
  build: (db: Kysely<Schema>, places: Places<Values>) => Compilable<Row>,
): Statement<Values, Row> {
  return kept((db, place) => build(db, { at: (name) => place((values) => values[name]) }));
}

/** The same of `count` rows at once, each with places of its own. */
export function rowsStatement<Values extends RowValues<Values>, Row>(
  count: number,
  build: (db: Kysely<Schema>, rows: readonly Places<Values>[]) => Compilable<Row>,
): Statement<readonly Values[], Row> {
  const indices = Array.from({ length: count }, (_, index) => index);
  return kept((db, place) => {
    const placesOf = (index: number): Places<Values> => ({ at: (name) => place((rows) => rowAt(rows, index)[name]) });
    return build(db, indices.map(placesOf));
  });
}

function rowAt<Values>(rows: readonly Values[], index: number): Values {
  const row = rows[index];
  if (row === undefined) throw new Error('the statement is one of more rows');
  return row;
}

interface Prepared<Values, Row> {
  readonly query: ReturnType<Compilable<Row>['compile']>;
  /** Values of the query's parameters, in order. */
  readonly parameters: readonly ((values: Values) => unknown)[];
}

type Build<Values, Row> = (db: Kysely<Schema>, place: Place<Values>) => Compilable<Row>;

function kept<Values, Row>(build: Build<Values, Row>): Statement<Values, Row> {
  let prepared: Prepared<Values, Row> | undefined;
  return {
    execute: (db, values) => {
      prepared ??= prepare(build, db);
      const parameters = prepared.parameters.map((parameter) => parameter(values));
      const { query, queryId, sql } = prepared.query;
      return db.getExecutor().executeQuery({ query, queryId, sql, parameters });
    },
  };
}

function prepare<Values, Row>(build: Build<Values, Row>, db: Kysely<Schema>): Prepared<Values, Row> {
  const places = new Map<unknown, (values: Values) => unknown>();
  const query = build(db, (read) => {
    const place = { read };
    places.set(place, read);
    return sql`${place}`;
  }).compile();
  return { query, parameters: query.parameters.map((one) => places.get(one) ?? (() => one)) };
}
