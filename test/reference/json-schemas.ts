import type { SchemaName } from '@signet/server/cli/config/schema-files';
import { configSchema } from '@signet/server/config/config-schema';
import { environmentName } from '@signet/server/config/env';
import { caseFileSchema } from '@signet/server/management/documents/case-file';
import { documentSchema } from '@signet/server/management/documents/document-schema';
import { configSchema as updaterSchema } from '@signet/updater/config/config';
import { variables } from '@signet/updater/config/env';
import { z } from 'zod';

/* The JSON Schemas of the files that people write. They accept whatever the programs accept; checks that JSON Schema cannot express are left out. */

type Json = z.core.JSONSchema.BaseSchema;

/** Facts about an option for which JSON Schema has no word. */
const ownWords = ['since', 'unit', 'absent'] as const;

/** The schema of each kind of file. */
export function jsonSchemas(): Readonly<Record<SchemaName, Json>> {
  const config = jsonSchemaOf(configSchema, 'signet.yaml', 'The configuration of a Signet token server.');
  const updater = jsonSchemaOf(updaterSchema, 'updater.yaml', 'The configuration of signet-updater.');
  const names: Readonly<Record<string, string>> = variables;
  return {
    // Values of variables are a string, a number or a boolean.
    config: withVariables(config, (option, { type }) =>
      type === 'array' || type === 'object' ? undefined : environmentName(option),
    ),
    updater: withVariables(updater, (option) => names[option]),
    domain: jsonSchemaOf(documentSchema, '<domain>.yaml', 'A domain: its roles, groups, policies and services.'),
    // A file with nothing but comments holds no test.
    'policy-tests': jsonSchemaOf(
      caseFileSchema.nullable(),
      '<domain>.cases.yaml',
      'Policy tests: who may do what in a domain, and who may not.',
    ),
  };
}

/** JSON Schema of what people write, before defaults are filled in. */
export function jsonSchemaOf(schema: z.ZodType, title: string, description: string): Json {
  const { $schema = 'https://json-schema.org/draft/2020-12/schema', ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      tidy(jsonSchema);
      // Zod leaves them out where what is read becomes another value.
      const examples = z.globalRegistry.get(zodSchema)?.['examples'];
      if (Array.isArray(examples)) jsonSchema.examples = examples;
    },
  });
  return { $schema, title, description, ...json };
}

const safe = Number.MAX_SAFE_INTEGER;
const standardFormats = ['uri', 'ipv4', 'ipv6'];

function tidy(json: Json): void {
  if (json.minimum === -safe) Reflect.deleteProperty(json, 'minimum');
  if (json.maximum === safe) Reflect.deleteProperty(json, 'maximum');
  if (json.format !== undefined && !standardFormats.includes(json.format)) Reflect.deleteProperty(json, 'format');
  // The default of a section is what its options say.
  if (json.type === 'object' && json.properties !== undefined) Reflect.deleteProperty(json, 'default');
  for (const word of ownWords) {
    if (json[word] === undefined) continue;
    json[`x-${word}`] = json[word];
    Reflect.deleteProperty(json, word);
  }
}

/** Options of lists have no variable. */
function withVariables(json: Json, nameOf: (option: string, schema: Json) => string | undefined, prefix = ''): Json {
  const properties = Object.entries(json.properties ?? {}).map(([name, inner]) => {
    const option = `${prefix}${name}`;
    if (typeof inner === 'boolean') return [name, inner] as const;
    if (inner.properties !== undefined) return [name, withVariables(inner, nameOf, `${option}.`)] as const;
    const variable = nameOf(option, inner);
    return [name, variable === undefined ? inner : { ...inner, 'x-environment': variable }] as const;
  });
  return { ...json, properties: Object.fromEntries(properties) };
}
