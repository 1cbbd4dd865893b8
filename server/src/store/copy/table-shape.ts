/** A table as a copy sees it: the same in every kind of database. */
export interface TableShape {
  readonly name: string;
  /** Columns by name, in the order of their letters. */
  readonly columns: readonly ColumnShape[];
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
}

interface ColumnShape {
  readonly name: string;
  readonly type: 'text' | 'number';
}

/** A value of a store. */
export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;
