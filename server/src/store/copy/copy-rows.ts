import { createHash } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { ConflictError, StoreRefusedError } from '../../errors.ts';
import type { OnProgress } from '../../steps/progress.ts';
import type { Schema } from '../database-schema.ts';
import type { CopyEnd, CopyTarget } from './copy-end.ts';
import { type CopyMark, createMark, hasBegun, partialCopy, readMark, removeMark, updateMark } from './copy-mark.ts';
import { insertRows, keyOf, readPages } from './pages.ts';
import { digestRows, firstDifference, type RowDigest } from './row-digest.ts';
import type { TableShape } from './table-shape.ts';

/** Result of a copy. */
export interface CopiedRows {
  readonly epoch: number;
  readonly counter: number;
  readonly rows: number;
  /** Digest of all rows, of the source and of the target. */
  readonly digest: string;
  /** `resumed` after the rows that were there; `restarted` when the source had changed since, so that they were removed. */
  readonly began: 'new' | 'resumed' | 'restarted';
}

interface CopyOptions {
  /** The tables; `meta` is the last. */
  readonly shapes: readonly TableShape[];
  readonly resume: boolean;
  readonly onProgress?: OnProgress;
}

/**
 * Copies every row of the source as of one instant into the target, which must be empty, or with `resume` a copy of the same store, partial or whole. Ended
 * at any point, the target is empty, marked, or the whole store. INVARIANT: `meta` comes last, with the proof that both ends hold the same rows and in
 * the transaction that removes the mark: no server can change a store without it. Throws `ConflictError` and `StoreRefusedError`.
 */
export function copyRows(source: CopyEnd, target: CopyTarget, options: CopyOptions): Promise<CopiedRows> {
  return source.snapshot(async (from) => {
    const { shapes, onProgress = () => undefined } = options;
    const wanted = await digestRows(from, shapes, (rows) => onProgress('reading the source, rows', rows));
    const mark = { source: await identityOf(from), digest: wanted.digest };
    const { began, last, isWhole } = await target.change((db) => begin(db, target, { ...options, mark }));
    const state = await stateOf(from);
    const done = { epoch: state.epoch, counter: state.counter, rows: wanted.rows, digest: wanted.digest, began };
    if (isWhole) return done;
    const tables = shapes.slice(0, -1);
    const first = last === undefined ? 0 : tables.findIndex(({ name }) => name === last.table);
    let copied = wanted.tables.slice(0, first).reduce((sum, { rows }) => sum + rows, 0);
    for (const [at, table] of tables.slice(first).entries()) {
      for await (const rows of readPages(from, table, at === 0 ? last?.key : undefined)) {
        const end = rows.at(-1);
        await target.change(async (db) => {
          await insertRows(db, table, rows);
          await updateMark(db, { ...mark, ...(end && { last: { table: table.name, key: keyOf(table, end) } }) });
        });
        copied += rows.length;
        onProgress('copying rows', copied, wanted.rows);
      }
    }
    // A server that began meanwhile may have changed rows that are not copied.
    await source.requireUnused?.();
    await target.change(async (db) => {
      for await (const rows of readPages(from, lastOf(shapes))) await insertRows(db, lastOf(shapes), rows);
      const onRows = (rows: number) => onProgress('comparing rows', rows, wanted.rows);
      requireSame(wanted, await digestRows(db, shapes, onRows));
      target.completing?.(state);
      await removeMark(db);
    });
    return done;
  });
}

/**
 * Replaces the rows of the target by those of the source, in one transaction: ended at any point, the target holds all of the one or all of the
 * other. Throws `ConflictError` when the target does not hold `expected` any more.
 */
export function replaceRows(
  source: CopyEnd,
  target: CopyTarget,
  options: { readonly shapes: readonly TableShape[]; readonly expected: string },
): Promise<void> {
  return source.snapshot(async (from) => {
    const { shapes, expected } = options;
    const wanted = await digestRows(from, shapes);
    await target.change(async (db) => {
      if ((await digestRows(db, shapes)).digest !== expected)
        throw new ConflictError(`store \`${target.place}\` was changed during the copy: stop its servers first`);
      await deleteRows(db, shapes);
      for (const table of shapes) {
        for await (const rows of readPages(from, table)) await insertRows(db, table, rows);
      }
      requireSame(wanted, await digestRows(db, shapes));
    });
  });
}

function requireSame(wanted: RowDigest, found: RowDigest): void {
  const table = firstDifference(wanted, found);
  if (table === undefined) return;
  throw new StoreRefusedError('corrupt', `the copy of table \`${table}\` differs from its source`);
}

function lastOf(shapes: readonly TableShape[]): TableShape {
  const last = shapes.at(-1);
  if (last?.name !== 'meta') throw new TypeError('`meta` must come last');
  return last;
}

/** The same for a store and its copies, before and after changes: what is made with a store and never changes. */
async function identityOf(db: Kysely<Schema>): Promise<string> {
  const meta = db.selectFrom('meta').select(['created_at', 'paging_secret']).where('id', '=', 1);
  const { created_at: createdAt, paging_secret: secret } = await meta.executeTakeFirstOrThrow();
  return createHash('sha256')
    .update(`signet store\0${JSON.stringify([createdAt, secret])}`)
    .digest('hex');
}

async function stateOf(db: Kysely<Schema>) {
  const columns = ['epoch', 'counter', 'sequence', 'audit_head as head'] as const;
  return await db.selectFrom('meta').select(columns).where('id', '=', 1).executeTakeFirstOrThrow();
}

interface Beginning extends CopyOptions {
  readonly mark: CopyMark;
}

/** Starting point of a copy. */
interface Begun extends Pick<CopiedRows, 'began'>, Pick<CopyMark, 'last'> {
  /** True if nothing is left to copy. */
  readonly isWhole: boolean;
}

async function begin(db: Kysely<Schema>, target: CopyTarget, { shapes, resume, mark }: Beginning): Promise<Begun> {
  if (!(await target.isMarked(db))) {
    if (resume && (await isWholeCopy(db, shapes, mark))) return { began: 'resumed', isWhole: true };
    await requireEmpty(db, target.place, shapes);
    await deleteRows(db, shapes);
    await createMark(db, mark);
    return { began: 'new', isWhole: false };
  }
  const known = await readMark(db);
  if (!hasBegun(known)) {
    await requireEmpty(db, target.place, shapes);
    await deleteRows(db, shapes);
    await updateMark(db, mark);
    return { began: 'new', isWhole: false };
  }
  if (!resume) throw partialCopy(target.place);
  const { source, digest, last } = known;
  if (source !== mark.source)
    throw new ConflictError(`\`${target.place}\` is a partial copy of another store: remove it, or name its source`);
  if (digest === mark.digest) return { began: 'resumed', isWhole: false, ...(last !== undefined && { last }) };
  // Rows of two instants would be no store.
  await deleteRows(db, shapes);
  await updateMark(db, mark);
  return { began: 'restarted', isWhole: false };
}

/** True if the target was copied to its end, by a command that perhaps failed to report it, and is unchanged since. */
async function isWholeCopy(db: Kysely<Schema>, shapes: readonly TableShape[], mark: CopyMark): Promise<boolean> {
  return (await identityOf(db)) === mark.source && (await digestRows(db, shapes)).digest === mark.digest;
}

async function requireEmpty(db: Kysely<Schema>, place: string, shapes: readonly TableShape[]): Promise<void> {
  if (await isEmpty(db, shapes)) return;
  throw new ConflictError(`\`${place}\` holds a store: copy into an empty database or a file that does not exist`);
}

/** True if a store was never used: rows written by its migrations are no content. */
export async function isEmpty(db: Kysely<Schema>, shapes: readonly TableShape[]): Promise<boolean> {
  for (const { name } of shapes) {
    const used = name === 'meta' ? sql`where counter > 0` : sql``;
    const { rows } = await sql`select 1 from ${sql.table(name)} ${used} limit 1`.execute(db);
    if (rows.length > 0) return false;
  }
  return true;
}

async function deleteRows(db: Kysely<Schema>, shapes: readonly TableShape[]): Promise<void> {
  for (const { name } of shapes.toReversed()) await sql`delete from ${sql.table(name)}`.execute(db);
}
