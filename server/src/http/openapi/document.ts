import { profiles } from '../../profile.ts';
import { type PrincipalTokenUse, principalTokenUses } from '../principal-token-use.ts';
import { openPaths } from '../routes/index.ts';
import { accessChecks, bulkAccessCheck, roleChecks } from './access-operations.ts';
import { commonHeaders, commonResponses, describedHeaders, failuresOf } from './answers.ts';
import { athenzOperations } from './athenz-operations.ts';
import { components } from './components.ts';
import { identityOperations, sshOperations } from './identity-operations.ts';
import { type Json, JsonSchemas } from './json-schema.ts';
import { managementOperations } from './management-operations.ts';
import { pathParameters } from './names.ts';
import { type Operation, type OperationAnswer, resourceError } from './operation.ts';
import { commonOf, commonParameters, parameter } from './parameters.ts';
import { metadataOperations, serverOperations } from './public-operations.ts';
import type { Served } from './served.ts';
import { domainOperations, tokenOperations } from './token-operations.ts';

/** Server with the default profile, base path and parts; its host is unspecified. */
export const usualServer: Served = {
  config: { profile: profiles.signet, anonymousKeys: false, management: { enabled: true, alone: false } },
  addresses: addressesAt('https://signet.example:4443', profiles.signet.basePath),
  identity: true,
};

function addressesAt(origin: string, basePath: string): Served['addresses'] {
  return { baseUrl: `${origin}${basePath}`, issuer: `${origin}${basePath}`, basePath };
}

export function operationsOf(served: Served): readonly Operation[] {
  const { config, addresses, identity } = served;
  const base = addresses.basePath;
  const { enabled, alone } = config.management;
  const tokenServer = [
    ...tokenOperations(base),
    ...domainOperations(base),
    ...accessChecks(base, 'access'),
    bulkAccessCheck(base, 'access'),
    ...roleChecks(base, 'access'),
    ...(identity ? identityOperations(base, config.profile.signsForServices) : []),
    ...sshOperations(base),
    ...(config.profile.name === 'athenz' ? athenzOperations(base, identity) : []),
    ...metadataOperations(served),
  ];
  return [...(alone ? [] : tokenServer), ...(enabled ? managementOperations : []), ...serverOperations(served)];
}

const tags: Readonly<Record<string, string>> = {
  access: 'Access checks and role lookups',
  athenz: 'Operations of the profile `athenz` only',
  certificates: 'Certificates of instances, services, roles and logins; authorities; revocation lists',
  management: 'Domains, roles, groups, policies and services',
  server: 'The server itself',
  tokens: 'Tokens, the keys that verify them, and signed policies',
};

/** Pages that describe the operations of a tag. */
const pages: Readonly<Record<string, string>> = {
  access: 'docs/reference/access-checks.md',
  athenz: 'docs/reference/athenz.md',
  certificates: 'docs/reference/certificates.md',
  management: 'docs/guides/operator.md',
  server: 'docs/reference/http.md',
  tokens: 'docs/reference/tokens.md',
};

/** The OpenAPI 3.1 document of a server. */
export function openApiDocument(served: Served = usualServer): Json {
  const operations = operationsOf(served);
  const context = { served, schemas: new JsonSchemas(components), ...rulesOf(served) };
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of [...operations].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: described(operation, context) };
  }
  // Converted first: all errors refer to it.
  context.schemas.of(resourceError, 'output');
  const used = new Set(operations.map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: infoOf(served),
    servers: [{ url: new URL(served.addresses.baseUrl).origin }],
    tags: Object.entries(tags).flatMap(([name, description]) => (used.has(name) ? [{ name, description }] : [])),
    security: [{ clientCertificate: [] }],
    paths,
    components: withoutUnused(paths, {
      securitySchemes: securitySchemes(served),
      schemas: context.schemas.components(),
      parameters: commonParameters(context.schemas),
      headers: commonHeaders(),
      responses: commonResponses(),
    }),
  };
}

function infoOf({ config, addresses }: Served): Json {
  return {
    title: 'Signet',
    version: '1',
    description: `Token server (\`${addresses.basePath}\`) and management API (\`/management/v1\`), with the profile \`${config.profile.name}\`. Every GET operation also supports HEAD. Other methods return 405, other paths 404.`,
    contact: { name: 'The Signet authors' },
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  };
}

function securitySchemes({ config }: Served): Readonly<Record<string, Json>> {
  return {
    clientCertificate: { type: 'mutualTLS', description: 'whose Subject CN is `domain.service`' },
    principalToken: {
      type: 'apiKey',
      in: 'header',
      name: config.profile.name === 'athenz' ? 'Athenz-Principal-Auth' : 'Svc-Principal-Auth',
      description: 'a principal token of a service, which names the caller (docs/reference/authentication.md)',
    },
  };
}

/** Rules that decide which callers may use an operation. */
interface Rules {
  readonly isOpen: (path: string) => boolean;
  readonly tokenUse: (method: string, path: string) => PrincipalTokenUse;
}

function rulesOf({ config, addresses }: Served): Rules {
  const open = openPaths(addresses, config);
  return {
    isOpen: (path) => open.has(path),
    tokenUse: principalTokenUses(config.profile, addresses.basePath),
  };
}

interface Context extends Rules {
  readonly served: Served;
  readonly schemas: JsonSchemas;
}

function described(operation: Operation, context: Context): Json {
  const {
    id,
    tag,
    summary,
    description = `${summary}. See ${pages[tag]}.`,
    body,
    bodyType = 'application/json',
  } = operation;
  const { schemas } = context;
  const isOpen = context.isOpen(operation.path);
  const security = isOpen ? [] : securityOf(operation, context);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...(security !== undefined && { security }),
    parameters: parametersOf(operation, schemas),
    ...(body !== undefined && {
      requestBody: { required: true, content: { [bodyType]: { schema: schemas.of(body, 'input') } } },
    }),
    responses: { ...failuresOf(operation, isOpen), ...answersOf(operation, schemas) },
  };
}

/** Undefined: a client certificate, as everywhere. */
function securityOf(
  { method, path, isAttested }: Operation,
  { served, tokenUse }: Context,
): readonly Json[] | undefined {
  const clientCertificate: readonly string[] = [];
  if (isAttested === true) return [{ clientCertificate }, {}];
  if (tokenUse(method.toUpperCase(), path) === 'confirms') return undefined;
  const alone = served.config.profile.principalTokenAlone;
  return [{ clientCertificate }, { ...(!alone && { clientCertificate }), principalToken: [] }];
}

function parametersOf(operation: Operation, schemas: JsonSchemas): readonly Json[] {
  const { path, inPath = {}, query = {} } = operation;
  const ofPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = inPath[name] ?? pathParameters[name];
    if (schema === undefined) throw new Error(`the parameter \`${name}\` of \`${path}\` is not described`);
    return { name, in: 'path', required: true, schema: schemas.of(schema, 'output') };
  });
  const own = Object.entries(query).map(([name, described]) => parameter('query', name, described, schemas));
  const common = commonOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...ofPath, ...own, ...common];
}

function answersOf({ answers, form, method }: Operation, schemas: JsonSchemas): Readonly<Record<number, Json>> {
  const described = Object.entries(answers).map(([status, answer]) => [
    status,
    status === '304' ? notModified : response(answer, schemas),
  ]);
  return {
    ...Object.fromEntries(described),
    ...(method === 'get' && form !== undefined && { 304: notModified }),
  };
}

const notModified = { $ref: '#/components/responses/NotModified' };

function response({ says, schema, types = [], headers }: OperationAnswer, schemas: JsonSchemas): Json {
  const content =
    schema === undefined
      ? Object.fromEntries(types.map((type) => [type, {}]))
      : { 'application/json': { schema: schemas.of(schema, 'output') } };
  const hasContent = Object.keys(content).length > 0;
  return { description: says, headers: describedHeaders(headers), ...(hasContent && { content }) };
}

/** The components that anything refers to, by others as well. */
function withoutUnused(
  paths: Json,
  all: Readonly<Record<string, Readonly<Record<string, Json>>>>,
): Readonly<Record<string, Readonly<Record<string, Json>>>> {
  const used = new Set<string>();
  const open: unknown[] = [paths];
  for (const value of open) {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)) {
      if (used.has(`${kind}/${name}`)) continue;
      used.add(`${kind}/${name}`);
      open.push(all[kind]?.[name] ?? {});
    }
  }
  const kept = (kind: string, name: string) => kind === 'securitySchemes' || used.has(`${kind}/${name}`);
  return Object.fromEntries(
    Object.entries(all).map(([kind, items]) => [
      kind,
      Object.fromEntries(Object.entries(items).filter(([name]) => kept(kind, name))),
    ]),
  );
}
