import type { StorePlace } from '../config/store-place.ts';
import type { OnProgress } from '../steps/progress.ts';
import type { CopyEnd, CopyTarget } from './copy/copy-end.ts';
import { markBeforeTables } from './copy/copy-mark.ts';
import { type CopiedRows, copyRows } from './copy/copy-rows.ts';
import { digestRows, firstDifference, type RowDigest } from './copy/row-digest.ts';
import { openPostgresSource, openPostgresTarget } from './postgres/copy-ends.ts';
import { openSqliteSource, openSqliteTarget } from './sqlite/copy-ends.ts';
import { tableShapes } from './sqlite/table-shapes.ts';

interface CopyOptions {
  readonly resume: boolean;
  /** True if servers may go on with the source: their changes after this instant are not in the copy. */
  readonly whileRunning: boolean;
  readonly onProgress?: OnProgress;
}

/**
 * Copies a store as of one instant into another place, of the same kind of database or another one, and proves by a digest that both hold the same.
 * Epoch and change counter stay, so hosts notice nothing. Throws `ConflictError` when the target is not empty, or servers use one of
 * them; `StoreRefusedError` for a store that cannot be copied.
 */
export async function copyStore(from: StorePlace, to: StorePlace, options: CopyOptions): Promise<CopiedRows> {
  const shapes = await tableShapes();
  return withEnd(openSource(from, options.whileRunning ? 'allowed' : 'locked-out'), (source) =>
    withEnd(openTarget(to), (target) => copyRows(source, target, { ...options, shapes })),
  );
}

/** Contents of two stores, each as of one instant. */
interface Comparison {
  readonly from: { readonly digest: string; readonly rows: number };
  readonly to: { readonly digest: string; readonly rows: number };
  /** The first table that does not hold the same rows in both; absent when they hold the same. */
  readonly differs?: string;
}

/** Compares the rows of two stores, while servers go on. Throws as `copyStore` does. */
export async function compareStores(
  from: StorePlace,
  to: StorePlace,
  onProgress: OnProgress = () => undefined,
): Promise<Comparison> {
  const shapes = await tableShapes();
  const digestOf = (place: StorePlace, total?: number) => {
    const onRows = (rows: number) => onProgress('comparing rows', rows, total);
    return withEnd(openSource(place, 'allowed'), (end) => end.snapshot((db) => digestRows(db, shapes, onRows)));
  };
  const one = await digestOf(from);
  const other = await digestOf(to, one.rows);
  const differs = firstDifference(one, other);
  const shown = ({ digest, rows }: RowDigest) => ({ digest, rows });
  return { from: shown(one), to: shown(other), ...(differs !== undefined && { differs }) };
}

export function openSource(place: StorePlace, others: 'locked-out' | 'allowed'): Promise<CopyEnd> {
  return place.kind === 'sqlite' ? openSqliteSource(place.file, others) : openPostgresSource(place, others);
}

function openTarget(place: StorePlace): Promise<CopyTarget> {
  return place.kind === 'sqlite' ? openSqliteTarget(place.file) : openPostgresTarget(place, markBeforeTables);
}

/** Closes the store after the work, also on failure. */
export async function withEnd<End extends CopyEnd, Result>(
  opening: Promise<End>,
  work: (end: End) => Promise<Result>,
): Promise<Result> {
  const end = await opening;
  try {
    return await work(end);
  } finally {
    await end.close();
  }
}
