import type { Kysely } from 'kysely';

/** Every transaction that changes something leaves a number, its time and its writer: the witness beside the store is compared with them. */
export async function addSequence(db: Kysely<unknown>): Promise<void> {
  for (const column of ['sequence', 'written_at'] as const) {
    await db.schema
      .alterTable('meta')
      .addColumn(column, 'bigint', (definition) => definition.notNull().defaultTo(0))
      .execute();
  }
  await db.schema
    .alterTable('meta')
    .addColumn('written_by', 'text', (definition) => definition.notNull().defaultTo(''))
    .execute();
}
