import { type Kysely, sql } from 'kysely';
import type { Schema } from './database-schema.ts';

/* What a store may have forgotten when it goes on from an earlier state is given up: nobody may take it for what it was before. */

/** More revocation lists than can have been published since any backup. */
export const crlNumbersAhead = 1_000_000;

/** Ends what must not go on into another epoch, at `at` (seconds): answers how many join tokens were open. */
export async function leaveEpoch(db: Kysely<Schema>, at: number): Promise<{ readonly joinTokensSpent: number }> {
  const open = db.updateTable('join_tokens').set({ spent_at: at }).where('spent_at', 'is', null);
  const spent = await open.executeTakeFirst();
  // A list of before may lack what was revoked since.
  const number = sql<number>`number + ${sql.lit(crlNumbersAhead)}`;
  await db.updateTable('revocation_lists').set({ number, list: null }).execute();
  // Nobody follows into another epoch.
  await db.deleteFrom('changes').execute();
  return { joinTokensSpent: Number(spent.numUpdatedRows) };
}
