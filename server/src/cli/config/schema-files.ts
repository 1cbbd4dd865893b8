import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../../own-files.ts';
import { outputFolder, writeOutput } from '../written-output.ts';

/** The JSON Schemas of the files that people write; `schemas/` has them (made by `npm run reference`, which a test holds true). */
export const schemaNames = ['config', 'updater', 'domain', 'policy-tests'] as const;
export type SchemaName = (typeof schemaNames)[number];

const folderName = 'schemas';

/** The text of a schema: in a checkout as in an installation. */
export function readSchema(name: SchemaName): string {
  const isCheckout = existsSync(join(packageFolder, 'src'));
  return readFileSync(join(packageFolder, isCheckout ? '..' : '.', folderName, fileName(name)), 'utf8');
}

/** The line at the top of a YAML file by which editors find its schema in the folder `schemas` beside it. */
export function schemaHeader(name: SchemaName): string {
  return `# yaml-language-server: $schema=${folderName}/${fileName(name)}\n`;
}

/**
 * Writes schemas into `schemas` in the folder, for their readers to find. Throws `ConflictError` for another file in the place of one, unless
 * `force` says to replace it.
 */
export async function writeSchemas(
  folder: string,
  { names = schemaNames, force = false }: { readonly names?: readonly SchemaName[]; readonly force?: boolean } = {},
): Promise<void> {
  const into = outputFolder(join(folder, folderName));
  for (const name of names) {
    const [file, text] = [join(into, fileName(name)), readSchema(name)];
    if (!holds(file, text)) await writeOutput(file, text, { force, mode: 0o644 });
  }
}

function holds(file: string, text: string): boolean {
  const isFile = lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
  return isFile && readFileSync(file, 'utf8') === text;
}

function fileName(name: SchemaName): string {
  return `${name}.schema.json`;
}
