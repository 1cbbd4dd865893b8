import type { z } from 'zod';
import { isEqual } from './equal.ts';

/* A field of a record is described once: what documents and bodies may say of it, what the record holds, and the cell of its table.
   Types of records and tables, schemas, reading, writing and comparing follow from the description. All casts that takes are here. */

type Content = string | number | boolean | readonly string[];
type Cell = string | number;

export interface Field<Column extends string, Wire, Value extends Content, C extends Cell> {
  readonly column: Column;
  readonly schema: z.ZodType<Wire>;
  /** Value other than the default, for tests. */
  readonly sample: Wire;
  /** Default in records for an omitted value; documents omit it. Without a default, records omit the field as well. */
  readonly default?: Value;
  /** Throws `InvalidNameError` or `InvalidRequestError`. */
  parse(wire: Wire): Value;
  show(value: Value): Wire;
  toCell(value: Value): C;
  fromCell(cell: C): Value;
}

/** The fields of one kind of record, in the order in which they are shown. */
export type Fields = Readonly<Record<string, Field<string, unknown, Content, Cell>>>;

type WithDefault<F extends Fields> = {
  [K in keyof F]: F[K] extends { readonly default: Content } ? K : never;
}[keyof F];

/** Field values in the form of records. */
export type Values<F extends Fields> = { readonly [K in WithDefault<F>]: ReturnType<F[K]['parse']> } & {
  readonly [K in Exclude<keyof F, WithDefault<F>>]?: ReturnType<F[K]['parse']>;
};

/** Field values in the form of documents and bodies. */
export type Wires<F extends Fields> = { [K in keyof F]?: z.output<F[K]['schema']> | undefined };

/** Field values in the form of tables. */
export type Columns<F extends Fields> = {
  [K in keyof F as F[K]['column']]: ReturnType<F[K]['toCell']> | (K extends WithDefault<F> ? never : null);
};

type Of<Item> = Readonly<Record<string, Item | undefined>>;

/** Object with the results of `make` for each field's value in `from`; undefined ones are omitted. */
function collect<In, Out>(
  fields: Fields,
  from: object,
  make: (value: In | undefined, field: Fields[string], name: string) => Out | undefined,
): Record<string, Out> {
  const found: Record<string, Out> = {};
  for (const name in fields) {
    const field = fields[name];
    const item = field && make((from as Of<In>)[name], field, name);
    if (item !== undefined) found[name] = item;
  }
  return found;
}

export function rowOf<F extends Fields>(fields: F, record: Partial<Values<F>>): Columns<F> {
  const cells = Object.entries<Fields[string]>(fields).map(([name, field]) => {
    const value = (record as Of<Content>)[name] ?? field.default;
    return [field.column, value === undefined ? null : field.toCell(value)] as const;
  });
  return Object.fromEntries(cells) as Columns<F>;
}

export function valuesOf<F extends Fields>(fields: F, row: Columns<F>): Values<F> {
  const found: Record<string, Content> = {};
  for (const name in fields) {
    const field: Fields[string] | undefined = fields[name];
    if (field === undefined) continue;
    const cell = (row as Of<Cell | null>)[field.column] ?? undefined;
    if (cell !== undefined) found[name] = field.fromCell(cell);
  }
  return found as Values<F>;
}

/** The fields of a record of which nothing is said. */
export function defaultsOf<F extends Fields>(fields: F): Values<F> {
  return collect(fields, fields, (_, field) => field.default) as Values<F>;
}

/**
 * Parses the fields of a document or body, and adds the defaults of the rest. `read` is given each field to parse, and answers undefined to
 * leave it out.
 */
export function parseFields<F extends Fields>(
  fields: F,
  wires: Wires<F>,
  read: (name: string, parse: () => Content) => Content | undefined,
): Values<F> {
  return collect(fields, wires, (wire, field, name) =>
    wire === undefined ? field.default : read(name, () => field.parse(wire)),
  ) as Values<F>;
}

/** The fields of a record without what else it has. */
export function fieldsOf<F extends Fields>(fields: F, record: Values<F>): Values<F> {
  return collect(fields, record, (value) => value) as Values<F>;
}

/** Field values in the form of the API. */
export function viewOf<F extends Fields>(fields: F, record: Values<F>): Wires<F> {
  return collect(fields, record, (value: Content | undefined, field) =>
    value === undefined ? undefined : field.show(value),
  ) as Wires<F>;
}

/** Field values in the form of documents: without defaults. */
export function shapeOf<F extends Fields>(fields: F, record: Values<F>): Wires<F> {
  const said = collect(fields, record, (value, field) => (value === field.default ? undefined : value));
  return viewOf(fields, said as Values<F>);
}

/** The record with these fields in place of its own. */
export function withFields<F extends Fields, R extends Values<F>>(fields: F, record: R, values: Values<F>): R {
  const others = Object.entries(record).filter(([name]) => !Object.hasOwn(fields, name));
  return { ...Object.fromEntries(others), ...values } as R;
}

export function isSame<F extends Fields>(fields: F, one: Values<F>, other: Values<F>): boolean {
  for (const name in fields) if (!isEqual((one as Of<Content>)[name], (other as Of<Content>)[name])) return false;
  return true;
}

/** Schemas of documents and bodies. */
export function schemasOf<F extends Fields>(fields: F) {
  const schemas = collect(fields, fields, (_, { schema }) => schema.optional());
  return schemas as { [K in keyof F]: z.ZodOptional<F[K]['schema']> };
}

/** Schemas of what the API shows. */
export function viewSchemasOf(fields: Fields): Record<string, z.ZodType> {
  const shown = (field: Fields[string]) => (field.default === undefined ? field.schema.optional() : field.schema);
  return collect(fields, fields, (_, field): z.ZodType => shown(field));
}
