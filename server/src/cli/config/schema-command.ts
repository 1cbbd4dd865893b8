import { Argument, Command } from 'commander';
import { action } from '../run.ts';
import { readSchema, type SchemaName, schemaNames } from './schema-files.ts';

/** `signet schema`: what may stand in a file, for editors and other programs. */
export function schemaCommand(): Command {
  return new Command('schema')
    .description('print the JSON Schema (draft 2020-12) of signet.yaml, updater.yaml, domain documents or policy tests')
    .addArgument(new Argument('<kind>', 'type of file').choices(schemaNames))
    .action(action((name: SchemaName) => void process.stdout.write(readSchema(name))));
}
