import type { Json } from './json-schema.ts';
import type { AnswerHeaders, HeaderName, Operation } from './operation.ts';

/** Descriptions of the answers' headers. */
const headerTexts: Readonly<Record<HeaderName | 'Cache-Control', string>> = {
  'Cache-Control': '`no-store`, or `max-age`: seconds for which a cache may serve the response',
  ETag: 'entity tag of the body',
  'Last-Modified': 'time of the last change of the content',
  Location: 'URL of the object',
  Vary: 'request headers that the response depends on',
  'Signet-Warning': 'warnings about the change, which was made',
  'WWW-Authenticate': 'accepted authentication schemes',
  'Retry-After': 'seconds to wait before a retry',
  Accept: 'accepted content type',
  'Accept-Encoding': 'accepted content coding',
  'X-Request-Id': 'ID of the request in the server log',
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
  403: { name: 'Forbidden', says: 'the caller is not authorized' },
  404: { name: 'NotFound', says: 'an object named in the request does not exist' },
  408: { name: 'RequestTimeout', says: 'the request took too long to arrive' },
  409: { name: 'Conflict', says: 'the request conflicts with the current state' },
  412: { name: 'PreconditionFailed', says: 'a precondition of the request, such as `If-Match`, does not hold' },
  413: { name: 'ContentTooLarge', says: 'the body is too large' },
  414: { name: 'UriTooLong', says: 'the URL is too long' },
  415: {
    name: 'UnsupportedMediaType',
    says: 'the content type or coding of the body is not accepted',
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
    says: 'internal error of the server',
  },
  503: {
    name: 'ServiceUnavailable',
    says: 'the store or another required service is not available, or the caller must connect again',
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
      says: 'internal error of the server, or a failure of a provider',
      headers: { 'Retry-After': 'sometimes' },
    }),
    NotModified: {
      description: 'not modified: the copy of the caller is current',
      headers: describedHeaders({ ETag: 'always' }),
    },
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
