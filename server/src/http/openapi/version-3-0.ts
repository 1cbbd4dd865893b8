import type { Json } from './json-schema.ts';

/*
 * The same document in OpenAPI 3.0, for tools that read no 3.1. Its schemas are not JSON Schema: null is a mark of a type, and several keywords
 * have another form or are missing. A keyword without a form there is an error, so that none is passed on unread.
 */

/** The document in OpenAPI 3.0.3. Throws `Error` for a keyword that has no form there. */
export function inVersion30(document: Json): Json {
  const { openapi: _, info, security: __, components, ...rest } = document;
  const { schemas, securitySchemes, ...others } = components as Readonly<Record<string, Json>>;
  return {
    openapi: '3.0.3',
    info: withoutScheme(info as Json),
    ...(converted(rest) as Json),
    components: {
      securitySchemes: withoutTls(securitySchemes),
      schemas: mapped(schemas, schemaOf),
      ...(converted(others) as Json),
    },
  };
}

/** Security scheme that 3.0 does not have. A header must not stand for it: callers would send one that nobody reads. */
const tlsScheme = 'clientCertificate';
const tlsText =
  'Callers authenticate by a client certificate in the TLS handshake, for which OpenAPI 3.0 has no scheme.';

function withoutScheme(info: Json): Json {
  return { ...info, description: `${info['description']} ${tlsText}` };
}

function withoutTls(schemes: Json = {}): Json {
  return Object.fromEntries(Object.entries(schemes).filter(([name]) => name !== tlsScheme));
}

/** Everything outside of schemas: only their places and requirements of security differ. */
function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted);
  if (!isJson(value)) return value;
  return mapped(value, (inner, name) => {
    if (name === 'schema') return schemaOf(inner);
    return name === 'security' && Array.isArray(inner) ? requirements(inner) : converted(inner);
  });
}

/** What is required beside the certificate; nothing is an empty requirement. */
function requirements(security: readonly Json[]): readonly Json[] {
  const texts = new Set(security.map((each) => JSON.stringify(withoutTls(each))));
  return [...texts].map((text) => JSON.parse(text));
}

/** Keywords that both versions have with the same meaning, and whose value is no schema. */
const kept: ReadonlySet<string> = new Set([
  ...['type', 'format', 'enum', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'multipleOf'],
  ...['minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'required'],
  ...['title', 'description', 'default', 'deprecated', 'readOnly', 'writeOnly'],
]);

/** Conversion of each keyword that has another form, or holds schemas. */
const conversions: Readonly<Record<string, (value: unknown, schema: Json) => Json>> = {
  const: (value) => ({ enum: [value] }),
  examples: (value) => ({ example: (value as readonly unknown[])[0] }),
  exclusiveMinimum: (value, schema) => ({ ...alone(schema, 'minimum', value), exclusiveMinimum: true }),
  exclusiveMaximum: (value, schema) => ({ ...alone(schema, 'maximum', value), exclusiveMaximum: true }),
  properties: (value) => ({ properties: mapped(value as Json, schemaOf) }),
  items: (value) => ({ items: schemaOf(value) }),
  additionalProperties: namedProperties,
  // Read with the values of the properties.
  propertyNames: () => ({}),
  not: (value) => ({ not: schemaOf(value) }),
  allOf: (value) => ({ allOf: (value as readonly unknown[]).map(schemaOf) }),
  oneOf: (value) => alternatives('oneOf', value as readonly Json[]),
  anyOf: (value) => alternatives('anyOf', value as readonly Json[]),
};

function schemaOf(schema: unknown): Json {
  if (schema === true) return {};
  if (schema === false) return { not: {} };
  if (!isJson(schema)) throw new Error('a schema must be an object or a boolean');
  const { $ref, ...own } = schema;
  const parts = Object.entries(withOneType(own)).map(([name, value]) => keyword(name, value, own));
  const rest = Object.assign({}, ...parts) as Json;
  if ($ref === undefined) return rest['type'] === 'array' ? { items: {}, ...rest } : rest;
  return Object.keys(rest).length === 0 ? { $ref } : { ...rest, allOf: [{ $ref }] };
}

function keyword(name: string, value: unknown, schema: Json): Json {
  if (name === 'nullable' || kept.has(name)) return name === 'required' && isEmpty(value) ? {} : { [name]: value };
  const convert = Object.hasOwn(conversions, name) ? conversions[name] : undefined;
  if (convert === undefined) throw new Error(`the keyword \`${name}\` has no form in OpenAPI 3.0`);
  return convert(value, schema);
}

/** `type: [string, null]` as a type with a mark; a list of enumerated values has to name null as well. */
function withOneType(schema: Json): Json {
  const { type, ...rest } = schema;
  if (type === 'null') return { ...rest, ...onlyNull };
  if (!Array.isArray(type)) return schema;
  const [only, ...more] = type.filter((each) => each !== 'null');
  if (only === undefined || more.length > 0) throw new Error('a schema must be of one type, or of one and null');
  return type.includes('null') ? orNull({ ...rest, type: only }) : { ...rest, type: only };
}

/** Schema of null alone: the mark has an effect beside a type only. */
const onlyNull: Json = { type: 'string', nullable: true, enum: [null] };

function orNull(schema: Json): Json {
  const { enum: values } = schema;
  return { ...schema, nullable: true, ...(Array.isArray(values) && { enum: [...values, null] }) };
}

function alternatives(name: 'anyOf' | 'oneOf', given: readonly Json[]): Json {
  const others = given.filter(({ type }) => type !== 'null').map(schemaOf);
  const [only, ...more] = others;
  if (others.length === given.length) return { [name]: others };
  if (only !== undefined && more.length === 0 && only['type'] !== undefined) return orNull(only);
  return { [name]: [...others, onlyNull] };
}

/** The names that an object's members may have, where they are a list, are members of it; other rules of names are not said. */
function namedProperties(value: unknown, schema: Json): Json {
  const { propertyNames: names } = schema;
  const list = isJson(names) ? names['enum'] : undefined;
  const inner = typeof value === 'boolean' ? value : schemaOf(value);
  if (!Array.isArray(list)) return { additionalProperties: inner };
  const properties = Object.fromEntries(list.map((name) => [String(name), inner === true ? {} : inner]));
  return { ...alone(schema, 'properties', properties), additionalProperties: false };
}

/** A keyword that another one becomes; the schema must not have it as well. */
function alone(schema: Json, name: string, value: unknown): Json {
  if (schema[name] !== undefined) throw new Error(`a schema with \`${name}\` has no form in OpenAPI 3.0`);
  return { [name]: value };
}

function mapped(values: Json = {}, convert: (value: unknown, name: string) => unknown): Record<string, Json> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, convert(value, name) as Json]));
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
