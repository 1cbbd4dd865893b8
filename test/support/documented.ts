import { type Addresses, addressesOf, type ServerConfig } from '@signet/server/config/config';
import { openApiDocument, usualServer } from '@signet/server/http/openapi/document';
import type { Served } from '@signet/server/http/openapi/served';
import { profiles } from '@signet/server/profile';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/* Conformance of a server's answers to its OpenAPI document. */

/** A request as far as the document looks at it; `path` from the root, with its query. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array | undefined;
}

/** Answer to it. */
export interface GivenAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

const described = new Map<string, Served>();

/** Has answers from this base URL compared with the document of this server, else with that of a usual one. */
export function describeServer(config: ServerConfig, { baseUrl, issuer }: Pick<Addresses, 'baseUrl' | 'issuer'>): void {
  const { basePath } = addressesOf({ ...config, baseUrl, issuer }, 0);
  const identity = config.certificates.issuers.length > 0;
  described.set(baseUrl, { config, addresses: { baseUrl, issuer, basePath }, identity });
}

/** Servers of programs, whose configuration is not known here: the profile is told by the path. */
function usualAt(baseUrl: string): Served {
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '');
  const profile = basePath === profiles.athenz.basePath ? profiles.athenz : profiles.signet;
  const config = { ...usualServer.config, profile, anonymousKeys: profile.anonymousKeys };
  return { config, addresses: { baseUrl, issuer: baseUrl, basePath }, identity: true };
}

/** The server at a base URL as its document describes it. */
export function servedAt(baseUrl: string): Served {
  return described.get(baseUrl) ?? usualAt(baseUrl);
}

const documents = new Map<string, DocumentCheck>();

/** Throws when the document of the server does not describe the answer. */
export function requireDocumented(baseUrl: string, request: SentRequest, answer: GivenAnswer): void {
  const served = servedAt(baseUrl);
  const { config, addresses, identity } = served;
  const issuerPath = new URL(addresses.issuer).pathname;
  const key = JSON.stringify([
    config.profile.name,
    addresses.basePath,
    issuerPath,
    config.anonymousKeys,
    config.management,
    identity,
  ]);
  let check = documents.get(key);
  if (check === undefined) {
    check = new DocumentCheck(JSON.parse(JSON.stringify(openApiDocument(served))), config.profile.mergesSlashes);
    documents.set(key, check);
  }
  const fault = check.faultOf(request, answer);
  if (fault === undefined) return;
  const { method, path } = request;
  throw new Error(
    `the OpenAPI document does not describe this answer: ${fault}\n${method} ${path}\n${answer.status} ${JSON.stringify(answer.headers)}\n${answer.text.slice(0, 2000)}`,
  );
}

interface Ref {
  readonly $ref: string;
}
interface HeaderObject {
  readonly required?: boolean;
  readonly schema: object;
}
interface ResponseObject {
  readonly headers?: Readonly<Record<string, HeaderObject | Ref>>;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}
interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: object;
}
interface OperationObject {
  readonly parameters: readonly (ParameterObject | Ref)[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, ResponseObject | Ref>>;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}

/** Headers of HTTP and of the connection, which the document does not name. */
const ofEveryAnswer = new Set(
  'content-type content-length date connection keep-alive transfer-encoding strict-transport-security vary pragma'.split(
    ' ',
  ),
);
/** Statuses of the transport rules and the authentication where there is no operation. */
const withoutOperation = new Set([400, 401, 404, 408, 412, 413, 414, 417, 421, 429, 431, 501]);

/** Checks answers against one document; what it compiles it keeps. */
export class DocumentCheck {
  readonly #document: OpenApi;
  readonly #mergesSlashes: boolean;
  readonly #paths: readonly (readonly [pattern: RegExp, path: string])[];
  readonly #ajv = new Ajv2020({ strict: false, validateSchema: false });
  readonly #validators = new Map<object, ValidateFunction>();

  constructor(document: OpenApi, mergesSlashes = false) {
    this.#document = document;
    this.#mergesSlashes = mergesSlashes;
    const parameters = (path: string) => path.split('{').length;
    this.#paths = Object.keys(document.paths)
      .sort((a, b) => parameters(a) - parameters(b))
      .map((path) => [patternOf(path), path]);
    const isInteger = (bits: number) => (value: number) =>
      Number.isInteger(value) && Math.abs(value) <= 2 ** (bits - 1);
    this.#ajv.addFormat('int32', { type: 'number', validate: isInteger(32) });
    this.#ajv.addFormat('int64', { type: 'number', validate: isInteger(64) });
    this.#ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);
    this.#ajv.addFormat('uri', { validate: (text: string) => URL.canParse(text) });
    this.#ajv.addSchema(document, 'document');
  }

  /** Fault of an answer; undefined if none. */
  faultOf(request: SentRequest, answer: GivenAnswer): string | undefined {
    const [plain = ''] = request.path.split(/[?#]/);
    const path = this.#mergesSlashes ? plain.replace(/\/{2,}/g, '/') : plain;
    const [, known] = this.#paths.find(([pattern]) => pattern.test(path)) ?? [];
    const item = known === undefined ? undefined : this.#document.paths[known];
    const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase();
    const operation = item?.[method];
    if (operation === undefined) return this.#withoutOperation(item, answer, request.method === 'HEAD');
    const response = operation.responses[answer.status];
    if (response === undefined) return `status ${answer.status} is not listed`;
    const isServed = answer.status < 300;
    return (
      this.#faultOfResponse(this.#resolve(response), answer, request.method === 'HEAD') ??
      (isServed ? this.#faultOfRequest(operation, request) : undefined)
    );
  }

  /** Fault by the document of a request that the server accepted. */
  #faultOfRequest({ parameters, requestBody }: OperationObject, { path, body }: SentRequest): string | undefined {
    const query = new URLSearchParams(path.split('?')[1] ?? '');
    for (const parameter of parameters) {
      const { name, in: where, required = false, schema } = this.#resolve<ParameterObject>(parameter);
      if (where !== 'query') continue;
      const value = query.get(name) ?? '';
      if (value === '' && required) return `parameter \`${name}\` is not required by the server`;
      const validate = this.#validatorOf(schema);
      if (value !== '' && !validate(value) && !validate(parsedValue(value))) {
        return `parameter \`${name}\`, which the server took: ${this.#problem(validate)}`;
      }
    }
    const { schema } = requestBody?.content['application/json'] ?? {};
    if (schema === undefined || body === undefined) return undefined;
    const fault = this.#faultOfBody(schema, Buffer.from(body).toString());
    return fault && `the server took what the document refuses: ${fault}`;
  }

  #withoutOperation(item: object | undefined, answer: GivenAnswer, isHead: boolean): string | undefined {
    const { status } = answer;
    const allow = String(answer.headers['allow'] ?? '');
    if (item === undefined ? !withoutOperation.has(status) : status !== 405 && !withoutOperation.has(status)) {
      return `status ${status} of a request that is not in the document`;
    }
    if (item !== undefined && status === 405 && allow !== methodsOf(item)) return `Allow is \`${allow}\``;
    if (isHead) return undefined;
    return this.#faultOfBody({ $ref: 'document#/components/schemas/ResourceError' }, answer.text);
  }

  #faultOfResponse(response: ResponseObject, answer: GivenAnswer, isHead: boolean): string | undefined {
    return this.#faultOfHeaders(response, answer) ?? this.#faultOfContent(response, answer, isHead);
  }

  #faultOfHeaders({ headers = {} }: ResponseObject, answer: GivenAnswer): string | undefined {
    const documented = new Map(
      Object.entries(headers).map(([name, header]) => [name.toLowerCase(), this.#resolve<HeaderObject>(header)]),
    );
    for (const name of Object.keys(answer.headers)) {
      if (!ofEveryAnswer.has(name) && !documented.has(name)) return `header \`${name}\` is not listed`;
    }
    for (const [name, header] of documented) {
      const fault = this.#faultOfHeader(header, answer.headers[name]);
      if (fault !== undefined) return `header \`${name}\`: ${fault}`;
    }
    return undefined;
  }

  #faultOfHeader(
    { required = false, schema }: HeaderObject,
    value: GivenAnswer['headers'][string],
  ): string | undefined {
    if (value === undefined) return required ? 'it is missing' : undefined;
    const isNumber = 'type' in schema && schema.type === 'integer';
    const validate = this.#validatorOf(schema);
    return validate(isNumber ? Number(value) : String(value)) ? undefined : this.#problem(validate);
  }

  #faultOfContent({ content = {} }: ResponseObject, answer: GivenAnswer, isHead: boolean): string | undefined {
    const [type = ''] = String(answer.headers['content-type'] ?? '').split(';');
    const listed = Object.keys(content);
    if (listed.length === 0) return answer.text === '' ? undefined : 'a body is not listed';
    const media = content[type];
    if (media === undefined) return `content type \`${type}\` is not listed`;
    if (isHead || media.schema === undefined) return undefined;
    return this.#faultOfBody(media.schema, answer.text);
  }

  #faultOfBody(schema: object, text: string): string | undefined {
    const validate = this.#validatorOf(schema);
    return validate(JSON.parse(text)) ? undefined : `the body: ${this.#problem(validate)}`;
  }

  #problem({ errors }: ValidateFunction): string {
    return this.#ajv.errorsText(errors, { dataVar: '' });
  }

  #validatorOf(schema: object): ValidateFunction {
    const known = this.#validators.get(schema);
    if (known !== undefined) return known;
    // References of the document count from its root.
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'));
    const made = this.#ajv.compile(absolute);
    this.#validators.set(schema, made);
    return made;
  }

  #resolve<Item extends object>(item: Item | Ref): Item {
    if (!('$ref' in item)) return item;
    let found: unknown = this.#document;
    for (const step of String(item.$ref).split('/').slice(1)) found = Object(found)[step];
    return found as Item;
  }
}

/** The number or boolean that a parameter is; servers lower numbers that are too large to count. */
function parsedValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' ? Math.min(value, Number.MAX_SAFE_INTEGER) : value;
  } catch {
    return text;
  }
}

function patternOf(path: string): RegExp {
  const text = path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${text}$`);
}

/** `Allow` of a path: its methods, and HEAD beside GET. */
function methodsOf(item: object): string {
  const methods = Object.keys(item).map((method) => method.toUpperCase());
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
}
