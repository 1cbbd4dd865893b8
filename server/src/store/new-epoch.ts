import { type Kysely, sql } from 'kysely';
import type { Schema } from './database-schema.ts';

/* Invalidates the state that a store may have lost when it goes on from an earlier one: it must not be taken for the later one. */

/** Lead of revocation list numbers: more than can have been published since any backup. */
export const crlNumbersAhead = 1_000_000;

/** Ends everything that must not last into another epoch, at `at` (seconds): returns the number of open join tokens. */
export async function leaveEpoch(db: Kysely<Schema>, at: number): Promise<{ readonly joinTokensSpent: number }> {
  const open = db.updateTable('join_tokens').set({ spent_at: at }).where('spent_at', 'is', null);
  const spent = await open.executeTakeFirst();
  // A list of before may lack what was revoked since.
  const number = sql<number>`number + ${sql.lit(crlNumbersAhead)}`;
  await db.updateTable('revocation_lists').set({ number, list: null }).execute();
  // An open request may have been rejected or withdrawn in what was lost: it expires.
  const requests = db.updateTable('change_requests').set({ expires_at: at * 1000 });
  await requests
    .where('state', '=', 'open')
    .where('expires_at', '>', at * 1000)
    .execute();
  // Readers do not follow into another epoch.
  await db.deleteFrom('changes').execute();
  return { joinTokensSpent: Number(spent.numUpdatedRows) };
}
