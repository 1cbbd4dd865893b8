import { schemaNames } from '@signet/server/cli/config/schema-files';
import { wholeProgram } from '@signet/server/program';
import { createProgram as createUpdater } from '@signet/updater/program';
import { cliPage } from './cli-page.ts';
import { configurationPage } from './configuration-page.ts';
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
    ['docs/reference/configuration.md', configurationPage(plain(schemas.config), plain(schemas.updater))],
    ['docs/reference/cli.md', await commandLine()],
  ]);
}

function plain<Schema>(schema: object): Schema {
  return JSON.parse(JSON.stringify(schema));
}

async function commandLine(): Promise<string> {
  return cliPage([
    { program: await wholeProgram(), text: 'The token server and its tools.' },
    { program: createUpdater(async () => undefined), text: 'The daemon that keeps the signed policy of a host fresh.' },
  ]);
}
