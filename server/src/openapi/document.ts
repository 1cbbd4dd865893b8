import { z } from 'zod';
import { conditionSchema, conditionsSchema } from '../management/documents/conditions.ts';
import { assertionSchema, memberSchema, policySchema } from '../management/documents/document-schema.ts';
import { managementOperations } from './management-operations.ts';
import * as shapes from './management-shapes.ts';
import { type Operation, type OperationAnswer, resourceError } from './operation.ts';
import { identityShape, tokenOperations } from './token-operations.ts';

/** Every operation of a server with the default profile and base path. */
export const operations: readonly Operation[] = [...managementOperations, ...tokenOperations];

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 document of the management API and the token server. */
export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of [...operations].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: described(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signet',
      version: '1',
      description:
        'Token server (`/v1`) and management API (`/management/v1`), with the default profile and base path.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'https://localhost:4443' }],
    security: [{ clientCertificate: [] }],
    paths,
    components: {
      securitySchemes: {
        clientCertificate: { type: 'mutualTLS', description: 'whose Subject CN is `domain.service`' },
      },
      schemas: componentSchemas(),
      parameters: commonParameters,
      responses: {
        Error: {
          description: 'why not',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/ResourceError' } } },
        },
      },
    },
  };
}

function described(operation: Operation): Json {
  const { body, bodyType = 'application/json' } = operation;
  return {
    operationId: operationId(operation),
    tags: [operation.path.startsWith('/management/') ? 'management' : 'token server'],
    summary: operation.summary,
    ...(operation.open === true && { security: [] }),
    parameters: parametersOf(operation),
    ...(body !== undefined && {
      requestBody: { required: true, content: { [bodyType]: { schema: jsonSchema(body, 'input') } } },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [status, response(answer, operation.form)]),
      ),
      ...(operation.method === 'get' && operation.form !== undefined && { 304: { description: 'the caller has it' } }),
      '4XX': { $ref: '#/components/responses/Error' },
      '5XX': { $ref: '#/components/responses/Error' },
    },
  };
}

/** Parameters of many operations, by their names in the document. */
const commonParameters = {
  dryRun: inQuery('dryRun', 'only say what would change, and whose access', 'boolean'),
  reason: inQuery('reason', 'why, for the audit log; required where the domain asks for it', 'string'),
  allowWildcard: inQuery('allowWildcard', '`*` and prefixes may become members', 'boolean'),
  removeMemberships: inQuery(
    'removeMemberships',
    'what is deleted leaves the roles and groups that list it',
    'boolean',
  ),
  reuseName: inQuery('reuseName', 'a name that was deleted may be used before its reservation ends', 'boolean'),
  limit: inQuery('limit', 'at most so many items, 1 to 1000 (default 100)', 'integer'),
  cursor: inQuery('cursor', '`next` of the page before', 'string'),
  known: inHeader('If-None-Match', 'entity tags of what the caller has'),
  match: inHeader('If-Match', 'entity tags, of which the object must have one'),
  isNew: inHeader('If-None-Match', '`*`: the object must be new'),
};
type CommonParameter = keyof typeof commonParameters;

function inQuery(name: string, description: string, type: string): Json {
  return { name, in: 'query', description, schema: { type } };
}

function inHeader(name: string, description: string): Json {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

function parametersOf({ path, query = {}, method, form }: Operation): readonly Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const own = Object.entries(query).map(([name, description]) => inQuery(name, description, 'string'));
  const common = commonOf(form, method).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...inPath, ...own, ...common];
}

function commonOf(form: Operation['form'], method: Operation['method']): readonly CommonParameter[] {
  if (form === undefined) return [];
  if (method !== 'get')
    return ['dryRun', 'reason', 'allowWildcard', 'removeMemberships', 'reuseName', 'match', 'isNew'];
  return form === 'list' ? ['limit', 'cursor', 'known'] : ['known'];
}

function response(answer: OperationAnswer, form: Operation['form']): Json {
  const { says, schema, type = 'application/json', otherType, headers } = answer;
  if (schema === undefined) {
    const types = [type, ...(otherType === undefined ? [] : [otherType])].filter((name) => name !== 'application/json');
    return {
      description: says,
      ...(headers !== undefined && { headers: describedHeaders(headers) }),
      ...(types.length > 0 && { content: Object.fromEntries(types.map((name) => [name, {}])) }),
    };
  }
  const content = { [type]: { schema: jsonSchema(schema, 'output') } };
  return { description: says, ...(form !== undefined && { headers: headersOf(form) }), content };
}

function describedHeaders(headers: NonNullable<OperationAnswer['headers']>): Json {
  const described = ([name, description]: [string, string]) => [name, { description, schema: { type: 'string' } }];
  return Object.fromEntries(Object.entries(headers).map(described));
}

function headersOf(form: NonNullable<Operation['form']>): Json {
  const text = (description: string) => ({ description, schema: { type: 'string' } });
  return {
    ETag: text('of what is in the body'),
    ...(form === 'change' && { 'Signet-Warning': text('what its author should look at although it was made') }),
  };
}

type Direction = 'input' | 'output';

/** Schemas that stand once in the document and are referred to. */
const named: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [resourceError, 'ResourceError'],
  [assertionSchema, 'Assertion'],
  [conditionSchema, 'Condition'],
  [conditionsSchema, 'Conditions'],
  [shapes.valueSet, 'ContextValues'],
  [memberSchema, 'Member'],
  [policySchema, 'PolicyAssertions'],
  [shapes.domainShape, 'Domain'],
  [shapes.quotasShape, 'Quotas'],
  [shapes.roleShape, 'Role'],
  [shapes.groupShape, 'Group'],
  [shapes.serviceShape, 'Service'],
  [shapes.policyShape, 'Policy'],
  [shapes.changeShape, 'Change'],
  [shapes.objectChangeShape, 'ObjectChange'],
  [shapes.previewShape, 'Preview'],
  [shapes.shownAssertion, 'ShownAssertion'],
  [identityShape, 'Identity'],
]);

/** What callers send and what they get differ: some of the first is optional, and folded. */
function nameOf(schema: unknown, io: Direction): string | undefined {
  const name = named.get(schema);
  return name === undefined || io === 'output' ? name : `${name}Input`;
}

/** Those that the operations refer to. */
function componentSchemas(): Readonly<Record<string, Json>> {
  const schemas: Record<string, Json> = {};
  const add = (root: z.ZodType, io: Direction) => {
    for (const schema of namedIn(root, io)) {
      const name = nameOf(schema, io) ?? '';
      if (name in schemas) continue;
      schemas[name] = jsonSchema(schema, io, schema);
      add(schema, io);
    }
  };
  add(resourceError, 'output');
  for (const { body, answers } of operations) {
    if (body !== undefined) add(body, 'input');
    for (const { schema } of Object.values(answers)) if (schema !== undefined) add(schema, 'output');
  }
  return Object.fromEntries(Object.entries(schemas).sort());
}

function namedIn(root: z.ZodType, io: Direction): readonly z.ZodType[] {
  const found: z.ZodType[] = [];
  jsonSchema(root, io, undefined, (schema) => found.push(schema));
  return found;
}

/**
 * As JSON Schema, with references to what stands elsewhere, `whole` apart. What is checked beside the schema (names, references of
 * documents) is not in it.
 */
function jsonSchema(
  schema: z.ZodType,
  io: Direction,
  whole?: unknown,
  onNamed: (schema: z.ZodType) => void = () => undefined,
): Json {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: made }) => {
      const name = nameOf(zodSchema, io);
      if (name === undefined || zodSchema === whole) return;
      if (zodSchema instanceof z.ZodType) onNamed(zodSchema);
      for (const key of Object.keys(made)) Reflect.deleteProperty(made, key);
      made.$ref = `#/components/schemas/${name}`;
    },
  });
  return plain;
}

/** `GET /management/v1/domains/{domainName}` is `getManagementDomainsDomainName`. */
function operationId({ method, path }: Operation): string {
  const words = path.replace('/management/v1/', '/management/').split(/[^A-Za-z0-9]+/);
  return `${method}${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}
