import type { Kysely } from 'kysely';

/**
 * The version of a domain, which grew with every change, becomes its policy version, which grows with those that
 * bundles carry. It keeps its value, so that hosts find the bundle that they have. An earlier version can change no
 * domain any more: it would raise it.
 */
export async function addPolicyVersion(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('domains').renameColumn('version', 'policy_version').execute();
  await db.schema.alterTable('domains').renameColumn('modified', 'policy_modified').execute();
}
