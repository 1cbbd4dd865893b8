import { Command } from 'commander';
import { openApiDocument } from '../http/openapi/document.ts';
import { action } from './run.ts';

/** `signet openapi`: what the server can be asked, for programs. */
export function openApiCommand(): Command {
  return new Command('openapi')
    .description('print the OpenAPI 3.1 document of the token server and the management API')
    .action(action(() => void process.stdout.write(`${JSON.stringify(openApiDocument(), undefined, 2)}\n`)));
}
