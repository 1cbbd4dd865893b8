import { migrations } from '@signet/server/store/migrations/index';
import type { SchemaStep } from '@signet/server/store/schema-steps';
import { emptyStore } from '@signet/server/store/sqlite/empty-store';
import { readDefinitions } from '@signet/server/store/sqlite/known-schema';

type Definitions = ReadonlyMap<string, string>;

/** Schemas after each migration: a store is compared with them when it is opened. */
export async function makeSchemaSteps(): Promise<readonly SchemaStep[]> {
  const schemas: Definitions[] = [];
  const database = await emptyStore((step) => void schemas.push(readDefinitions(step)));
  database.close();
  const migrationTables = [...(schemas[0] ?? [])].filter(([, definition]) => definition.startsWith('kysely_migration'));
  const all = [new Map<string, string>(), new Map(migrationTables), ...schemas];
  return ['', ...Object.keys(migrations)].map((step, at) => difference(step, all[at], all[at + 1]));
}

function difference(step: string, before: Definitions = new Map(), after: Definitions = new Map()): SchemaStep {
  return {
    step,
    made: [...after]
      .filter(([object, definition]) => before.get(object) !== definition)
      .map(([object, definition]) => ({ object, definition })),
    gone: [...before.keys()].filter((object) => !after.has(object)),
  };
}
