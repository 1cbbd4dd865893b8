import { Command, Option } from 'commander';
import { openApiDocument } from '../http/openapi/document.ts';
import { inVersion30 } from '../http/openapi/version-3-0.ts';
import { action } from './run.ts';

/** `signet openapi`: what the server can be asked, for programs. */
export function openApiCommand(): Command {
  return new Command('openapi')
    .description('print the OpenAPI document of the HTTP API')
    .addOption(new Option('--format <version>', 'OpenAPI version').choices(['3.1', '3.0']).default('3.1'))
    .action(action(openApi));
}

function openApi({ format }: { readonly format: string }): void {
  const document = openApiDocument();
  const asked = format === '3.0' ? inVersion30(document) : document;
  process.stdout.write(`${JSON.stringify(asked, undefined, 2)}\n`);
}
