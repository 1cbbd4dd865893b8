import steps from './schema-steps.json' with { type: 'json' };

/** Change of the SQLite schema by a migration. Objects go by type and name, e.g. `table roles`. */
export interface SchemaStep {
  /** The name of the migration; empty for what is there before the first one. */
  readonly step: string;
  /** Objects that are new or have another definition now. */
  readonly made: readonly { readonly object: string; readonly definition: string }[];
  readonly gone: readonly string[];
}

/**
 * Schema that the migrations make, as `npm run reference` last recorded it: a server that has nothing to migrate neither loads nor runs them to
 * know what its store should look like.
 */
export const schemaSteps: readonly SchemaStep[] = steps;

/** The names of the migrations, in order. */
export const stepNames: readonly string[] = schemaSteps.map(({ step }) => step).filter((step) => step !== '');
