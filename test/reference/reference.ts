import { schemaNames } from '@signet/server/cli/config/schema-files';
import { wholeProgram } from '@signet/server/program';
import { createProgram as createUpdater } from '@signet/updater/program';
import { cliPages } from './cli-page.ts';
import { configurationPages } from './configuration-page.ts';
import { jsonSchemas } from './json-schemas.ts';
import { makeSchemaSteps } from './schema-steps.ts';

/** Files generated from schemas, commands and migrations: text by the name of its file, from the top of the repository. */
export async function referenceFiles(): Promise<ReadonlyMap<string, string>> {
  const schemas = jsonSchemas();
  return new Map([
    ...schemaNames.map(
      (name) => [`schemas/${name}.schema.json`, `${JSON.stringify(schemas[name], undefined, 2)}\n`] as const,
    ),
    ['server/src/store/schema-steps.json', `${JSON.stringify(await makeSchemaSteps(), undefined, 2)}\n`],
    ...Array.from(
      [...configurationPages(plain(schemas.config), plain(schemas.updater)), ...(await commandLine())],
      ([name, text]) => [`docs/reference/${name}`, text] as const,
    ),
  ]);
}

function plain<Schema>(schema: object): Schema {
  return JSON.parse(JSON.stringify(schema));
}

async function commandLine(): Promise<ReadonlyMap<string, string>> {
  return cliPages([
    { program: await wholeProgram(), text: 'The token server and its tools.' },
    { program: createUpdater(async () => undefined), text: 'The daemon that keeps the signed policy of a host fresh.' },
  ]);
}
