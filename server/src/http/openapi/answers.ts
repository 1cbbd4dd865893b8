import type { Json } from './json-schema.ts';
import type { AnswerHeaders, HeaderName, Operation } from './operation.ts';

/** Descriptions of the answers' headers. */
const headerTexts: Readonly<Record<HeaderName | 'Cache-Control', string>> = {
  'Cache-Control': '`no-store`, or `max-age`: how many seconds a cache may answer without asking again',
  ETag: 'the entity tag of what is in the body',
  'Last-Modified': 'when the content was made',
  Location: 'where to find it',
  Vary: 'the headers of the request that the answer depends on',
  'Signet-Warning': 'what the author of the change should look at although it was made',
  'WWW-Authenticate': 'how to authenticate',
  'Retry-After': 'seconds after which to ask again',
  Accept: 'the content type that is accepted',
  'Accept-Encoding': 'the content coding that is accepted',
  'X-Request-Id': 'the id of the request in the log of the server',
  Pragma: '`no-cache`',
};

/** Text of one kind of failure: its name in HTTP, its meaning here, and its headers. */
interface FailureText {
  readonly name: string;
  readonly says: string;
  readonly headers?: AnswerHeaders;
}

const failures: Readonly<Record<number, FailureText>> = {
  400: { name: 'BadRequest', says: 'the request is malformed; the message names the field or the rule' },
  401: {
    name: 'Unauthorized',
    says: 'the caller is not authenticated',
    headers: { 'WWW-Authenticate': 'always' },
  },
  403: { name: 'Forbidden', says: 'the caller is known and may not do this' },
  404: { name: 'NotFound', says: 'what the request names does not exist' },
  408: { name: 'RequestTimeout', says: 'the request took too long to arrive' },
  409: { name: 'Conflict', says: 'the request does not fit what is there' },
  412: { name: 'PreconditionFailed', says: 'a precondition of the request, such as `If-Match`, does not hold' },
  413: { name: 'ContentTooLarge', says: 'the body is too large' },
  414: { name: 'UriTooLong', says: 'the URL is too long' },
  415: {
    name: 'UnsupportedMediaType',
    says: 'the body has another type or coding than is accepted',
    headers: { Accept: 'sometimes', 'Accept-Encoding': 'sometimes' },
  },
  417: { name: 'ExpectationFailed', says: 'the expectation of the request cannot be met' },
  421: { name: 'MisdirectedRequest', says: 'the Host header names another server' },
  429: {
    name: 'TooManyRequests',
    says: 'the rate limit of the caller is exceeded, or too many of its requests are in flight',
    headers: { 'Retry-After': 'always' },
  },
  431: { name: 'RequestHeaderFieldsTooLarge', says: 'the headers are too large or too many' },
  500: {
    name: 'InternalServerError',
    says: 'a fault of the server',
  },
  503: {
    name: 'ServiceUnavailable',
    says: 'the store or another service that is needed cannot be used now, or the caller has to connect again',
    headers: { 'Retry-After': 'always' },
  },
};

/** Statuses of the transport rules, common to all operations. */
const ofEveryOperation = [400, 408, 412, 413, 414, 417, 421, 429, 431, 500];

/** Name of the response 500 of operations that ask a provider. */
const providerFailed = 'ProviderFailed';

/** Name of the token endpoint's response without a challenge, when `Authorization` was not used (RFC 6749 §5.2). */
const invalidClient = 'InvalidClient';

/** Statuses with which an operation fails, and the response of each; `isOpen`: callers need not authenticate. */
export function failuresOf(operation: Operation, isOpen: boolean): Readonly<Record<number, Json>> {
  const statuses = [
    ...ofEveryOperation,
    // A caller who must authenticate may need a new connection for it.
    ...(isOpen ? [] : [401, 503]),
    ...(operation.body === undefined ? [] : [415]),
    ...operation.failures,
  ];
  return Object.fromEntries(
    statuses.map((status) => {
      return [status, { $ref: `#/components/responses/${failureName(status, operation)}` }];
    }),
  );
}

function failureName(status: number, { isOAuth, asksProvider }: Operation): string | undefined {
  if (status === 401 && isOAuth === true) return invalidClient;
  return status === 500 && asksProvider === true ? providerFailed : failures[status]?.name;
}

/** Responses of all failures, and of answers that the caller already has. */
export function commonResponses(): Readonly<Record<string, Json>> {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/ResourceError' } } };
  const response = ({ says, headers }: FailureText): Json => ({
    description: says,
    headers: describedHeaders({ 'X-Request-Id': 'sometimes', ...headers }),
    content,
  });
  return {
    ...Object.fromEntries(Object.values(failures).map((failure) => [failure.name, response(failure)])),
    [invalidClient]: response({
      name: invalidClient,
      says: 'the caller is not authenticated; a challenge only for a request with `Authorization` (RFC 6749 §5.2)',
      headers: { 'WWW-Authenticate': 'sometimes' },
    }),
    [providerFailed]: response({
      name: providerFailed,
      says: 'a fault of the server, or of a provider that it asked',
      headers: { 'Retry-After': 'sometimes' },
    }),
    NotModified: { description: 'the caller has it', headers: describedHeaders({ ETag: 'always' }) },
  };
}

/** The headers of one answer: those that each has by reference. */
export function describedHeaders(headers: AnswerHeaders = {}): Json {
  const described = Object.entries<AnswerHeaders[HeaderName]>(headers).map(([name, when]) => [
    name,
    when === 'always' ? { $ref: `#/components/headers/${name}` } : header(name as HeaderName),
  ]);
  return Object.fromEntries([...described, ['Cache-Control', { $ref: '#/components/headers/Cache-Control' }]]);
}

/** Schemas of headers whose value is not arbitrary text. */
const headerSchemas: Readonly<Partial<Record<HeaderName, Json>>> = {
  ETag: { type: 'string', pattern: '^(?:W/)?"[!#-~]*"$' },
  'Retry-After': { type: 'integer', format: 'int32', minimum: 1 },
};

function header(name: HeaderName | 'Cache-Control'): Json {
  const schema = (name === 'Cache-Control' ? undefined : headerSchemas[name]) ?? { type: 'string' };
  return { description: headerTexts[name], schema };
}

/** The headers that answers refer to. */
export function commonHeaders(): Readonly<Record<string, Json>> {
  const names = Object.keys(headerTexts) as (keyof typeof headerTexts)[];
  return Object.fromEntries(names.map((name) => [name, { ...header(name), required: true }]));
}
