import { openApiDocument, usualServer } from '@signet/server/http/openapi/document';
import { inVersion30 } from '@signet/server/http/openapi/version-3-0';
import { profiles } from '@signet/server/profile';
import test from 'ava';

type Json = Readonly<Record<string, unknown>>;
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value));

const athenz = { ...usualServer, config: { ...usualServer.config, profile: profiles.athenz } };
const documents: readonly (readonly [note: string, given: Json, made: Json])[] = [
  ['the usual server', plain(openApiDocument()), plain(inVersion30(openApiDocument()))],
  ['the profile athenz', plain(openApiDocument(athenz)), plain(inVersion30(openApiDocument(athenz)))],
];

/** The schemas at the places of a document that hold one. */
function* placesIn(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'schema') yield inner;
    else if (name === 'schemas') yield* Object.values(inner as Json);
    else yield* placesIn(inner);
  }
}

/** A schema, and those inside of it. */
function* withInner(schema: unknown): Generator<Json> {
  if (typeof schema !== 'object' || schema === null) return;
  const json = schema as Json;
  yield json;
  const { properties = {}, anyOf = [], oneOf = [], allOf = [], items, additionalProperties, not } = json;
  const lists = [anyOf, oneOf, allOf].flatMap((list) => list as readonly unknown[]);
  for (const each of [...Object.values(properties as Json), ...lists, items, additionalProperties, not]) {
    yield* withInner(each);
  }
}

function schemasIn(document: Json): Json[] {
  return [...placesIn(document)].flatMap((schema) => [...withInner(schema)]);
}

/** The keywords of the Schema Object of OpenAPI 3.0.3, as far as they mean the same here. */
const keywords = new Set([
  ...[
    '$ref',
    'type',
    'format',
    'enum',
    'pattern',
    'minLength',
    'maxLength',
    'nullable',
    'description',
    'default',
    'example',
  ],
  ...[
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'minItems',
    'maxItems',
    'uniqueItems',
  ],
  ...[
    'properties',
    'required',
    'additionalProperties',
    'items',
    'anyOf',
    'oneOf',
    'allOf',
    'not',
    'title',
    'deprecated',
  ],
  ...['minProperties', 'maxProperties', 'readOnly', 'writeOnly'],
]);
const types = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object']);

for (const [note, given, made] of documents) {
  test(`every schema is one of OpenAPI 3.0: ${note}`, (t) => {
    t.is(made['openapi'], '3.0.3');
    let [count, nullable] = [0, 0];
    for (const schema of schemasIn(made)) {
      count += 1;
      const text = JSON.stringify(schema).slice(0, 200);
      t.deepEqual(
        Object.keys(schema).filter((name) => !keywords.has(name)),
        [],
        text,
      );
      const { type, $ref, enum: values, items, required, ...more } = schema;
      t.true(type === undefined || types.has(String(type)), text);
      t.true($ref === undefined || Object.keys(schema).length === 1, text);
      t.true(type !== 'array' || items !== undefined, text);
      t.true(required === undefined || (required as readonly unknown[]).length > 0, text);
      for (const name of ['exclusiveMinimum', 'exclusiveMaximum'])
        t.true([undefined, true].includes(more[name] as true));
      if (schema['nullable'] !== undefined) {
        nullable += 1;
        t.is(schema['nullable'], true);
        t.true(types.has(String(type)), 'the mark has an effect beside a type only');
        t.true(values === undefined || (values as readonly unknown[]).includes(null), text);
      }
    }
    t.true(count > 500 && nullable > 20, `${count} ${nullable}`);
    t.false(JSON.stringify(made).includes('mutualTLS'));
  });

  test(`everything but schemas and security is the same: ${note}`, (t) => {
    const without = ({ paths, components }: Json) => {
      const { schemas, securitySchemes: _, ...others } = components as Readonly<Record<string, Json>>;
      const text = JSON.stringify({ paths, others, names: Object.keys(schemas ?? {}) }, (name, value) =>
        name === 'schema' || name === 'security' ? undefined : value,
      );
      return JSON.parse(text);
    };
    t.deepEqual(without(made), without(given));
  });
}

/** One schema in a document, converted. */
function convert(schema: unknown): unknown {
  const { components } = inVersion30({ info: { description: 'x' }, components: { schemas: { S: schema } } });
  return (components as { readonly schemas: Json }).schemas['S'];
}

const string = { type: 'string' };
const none = { type: 'string', nullable: true, enum: [null] };
const ref = { $ref: '#/components/schemas/X' };
const schemas: readonly (readonly [given: unknown, made: unknown])[] = [
  [
    { type: ['string', 'null'], maxLength: 3 },
    { type: 'string', maxLength: 3, nullable: true },
  ],
  [
    { type: ['null', 'string'], enum: ['a', 'b'] },
    { type: 'string', enum: ['a', 'b', null], nullable: true },
  ],
  [{ type: ['string'] }, string],
  [{ type: 'null' }, none],
  [{ anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] }, { type: 'string', maxLength: 3, nullable: true }],
  [
    { anyOf: [{ type: 'string', const: 'a' }, { type: 'null' }] },
    { type: 'string', enum: ['a', null], nullable: true },
  ],
  [{ anyOf: [ref, { type: 'null' }] }, { anyOf: [ref, none] }],
  [{ oneOf: [string, ref, { type: 'null' }] }, { oneOf: [string, ref, none] }],
  [{ anyOf: [string, ref] }, { anyOf: [string, ref] }],
  [
    { type: 'string', const: 'a' },
    { type: 'string', enum: ['a'] },
  ],
  [
    { type: 'string', examples: ['a', 'b'] },
    { type: 'string', example: 'a' },
  ],
  [
    { type: 'integer', exclusiveMinimum: 0 },
    { type: 'integer', minimum: 0, exclusiveMinimum: true },
  ],
  [
    { type: 'integer', exclusiveMaximum: 9 },
    { type: 'integer', maximum: 9, exclusiveMaximum: true },
  ],
  [
    { ...ref, description: 'x' },
    { description: 'x', allOf: [ref] },
  ],
  [ref, ref],
  [{ type: 'array' }, { type: 'array', items: {} }],
  [
    { type: 'array', items: { type: ['string', 'null'] } },
    { type: 'array', items: { type: 'string', nullable: true } },
  ],
  [
    { type: 'object', properties: { const: { const: 1 } }, required: [], additionalProperties: false },
    { type: 'object', properties: { const: { enum: [1] } }, additionalProperties: false },
  ],
  [
    { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: { const: 1 } },
    { type: 'object', properties: { a: { enum: [1] }, b: { enum: [1] } }, additionalProperties: false },
  ],
  [
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: string },
    { type: 'object', additionalProperties: string },
  ],
  [
    { not: { const: 1 }, allOf: [{ const: 2 }] },
    { not: { enum: [1] }, allOf: [{ enum: [2] }] },
  ],
  [true, {}],
  [false, { not: {} }],
];
for (const [given, made] of schemas) {
  test(`the schema ${JSON.stringify(given)}`, (t) => t.deepEqual<unknown, unknown>(convert(given), made));
}

const refused: readonly (readonly [schema: unknown, message: string])[] = [
  [{ if: string }, 'the keyword `if` has no form in OpenAPI 3.0'],
  [{ type: 'array', prefixItems: [] }, 'the keyword `prefixItems` has no form in OpenAPI 3.0'],
  [{ properties: { a: { constructor: 1 } } }, 'the keyword `constructor` has no form in OpenAPI 3.0'],
  [{ type: ['string', 'integer'] }, 'a schema must be of one type, or of one and null'],
  [{ minimum: 1, exclusiveMinimum: 0 }, 'a schema with `minimum` has no form in OpenAPI 3.0'],
  [{ anyOf: ['x'] }, 'a schema must be an object or a boolean'],
];
for (const [schema, message] of refused) {
  test(`a schema without a form there is an error: ${JSON.stringify(schema)}`, (t) => {
    t.throws(() => convert(schema), { message });
  });
}

test('no scheme stands for the client certificate, and a principal token is one way beside none', (t) => {
  const usual = plain(inVersion30(openApiDocument()));
  const { securitySchemes } = usual['components'] as { readonly securitySchemes: Json };
  const paths = usual['paths'] as Readonly<Record<string, Readonly<Record<string, Json>>>>;
  t.deepEqual(Object.keys(securitySchemes), ['principalToken']);
  t.false('security' in usual);
  t.deepEqual(paths['/v1/access/{action}']?.['get']?.['security'], [{}, { principalToken: [] }]);
  t.deepEqual(paths['/v1/instance']?.['post']?.['security'], [{}]);
  t.deepEqual(paths['/healthz']?.['get']?.['security'], []);
  const { description } = usual['info'] as { readonly description: string };
  t.regex(description, / Callers authenticate by a client certificate in the TLS handshake, /);
});
