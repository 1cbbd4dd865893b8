import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, formatHttpDate } from '@signet/policy-engine/clock';
import type { Dispatcher } from 'undici';
import { SignetClientError } from '../client-errors.ts';
import type { Agents } from './agents.ts';
import { answerError } from './answer-error.ts';
import { backOff, isPassing, isServersOwn, type RetryPolicy } from './back-off.ts';
import type { Servers } from './servers.ts';
import { isBrokenConnection, transportError } from './transport-error.ts';

interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path segments below the base URL, not escaped. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Largest answer accepted, in bytes. */
  readonly maxResponseBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

interface HttpResponse {
  /** 200 to 299, or 304 when the request was conditional. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

interface HttpOptions {
  readonly agents: Agents;
  /** `https` URLs, without a slash at the end. */
  readonly servers: Servers;
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly readTimeoutMs: number;
}

const defaultMaxResponseBytes = 1 << 20;

/**
 * HTTP over the client's mutual TLS: time-outs, limits, and one error for each kind of failure. Every request may be
 * repeated: on another server where there is one, and after a pause on the same.
 */
export class Http {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Sends a request. Throws `SignetClientError` for every answer that is neither 2xx nor an expected 304. */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const { retry } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#sendToAny(request);
      if (!(outcome instanceof SignetClientError)) return outcome;
      if (attempt >= retry.retries || !isPassing(outcome)) throw outcome;
      const wait = backOff(attempt, outcome, retry.random);
      if (wait === undefined) throw outcome;
      await this.#pause(wait, request.signal);
    }
  }

  /** Sends to one server after the other, without a pause, until one answers for all of them. */
  async #sendToAny(request: HttpRequest): Promise<HttpResponse | SignetClientError> {
    const { servers, agents } = this.#options;
    let failure: SignetClientError | undefined;
    for (const baseUrl of servers.inOrder()) {
      await agents.refresh();
      const outcome = await this.#sendTo(baseUrl, request);
      if (!(outcome instanceof SignetClientError) || !isServersOwn(outcome)) {
        servers.answered(baseUrl);
        return outcome;
      }
      servers.failed(baseUrl);
      failure = outcome;
    }
    return failure ?? new SignetClientError('invalid-argument', 'no server is configured');
  }

  async #sendTo(baseUrl: string, request: HttpRequest): Promise<HttpResponse | SignetClientError> {
    try {
      return await this.#exchange(baseUrl, request);
    } catch (error) {
      if (!isBrokenConnection(error)) return explain(error, baseUrl, request.signal);
    }
    // a kept-alive connection that the server closed while we wrote: once more, on another one
    try {
      return await this.#exchange(baseUrl, request);
    } catch (error) {
      return explain(error, baseUrl, request.signal);
    }
  }

  async #pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    const { closed } = this.#options.agents;
    try {
      await pause(milliseconds, undefined, { signal: signal ? AbortSignal.any([signal, closed]) : closed });
    } catch (cause) {
      if (closed.aborted) throw new SignetClientError('closed', 'the client is closed', { cause });
      throw new SignetClientError('aborted', 'the request was aborted by the caller', { cause: signal?.reason });
    }
  }

  async #exchange(baseUrl: string, request: HttpRequest): Promise<HttpResponse> {
    request.signal?.throwIfAborted();
    const { connectTimeoutMs, readTimeoutMs, clock } = this.#options;
    const deadline = new AbortController();
    const expire = () =>
      deadline.abort(
        new SignetClientError('timed-out', `no complete response from \`${new URL(baseUrl).host}\` in time`),
      );
    // undici's own time-outs restart with every byte; these two do not
    let timer = setTimeout(expire, connectTimeoutMs + readTimeoutMs);
    try {
      const signal = request.signal ? AbortSignal.any([request.signal, deadline.signal]) : deadline.signal;
      const response = await this.#options.agents.server.request(undiciRequest(baseUrl, request, { signal, clock }));
      clearTimeout(timer);
      timer = setTimeout(expire, readTimeoutMs);
      return await this.#read(response, request);
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(response: Dispatcher.ResponseData, request: HttpRequest): Promise<HttpResponse> {
    const status = response.statusCode;
    const headers = firstValues(response.headers);
    const limit = request.maxResponseBytes ?? defaultMaxResponseBytes;
    const body = await readLimited(response, headers, limit);
    const conditional = request.headers?.['if-none-match'] !== undefined;
    if ((status >= 200 && status < 300) || (status === 304 && conditional)) return { status, headers, body };
    throw answerError(status, headers, body, this.#options.clock.now());
  }
}

function explain(error: unknown, baseUrl: string, signal: AbortSignal | undefined): SignetClientError {
  if (error instanceof SignetClientError) return error;
  if (signal?.aborted) {
    return new SignetClientError('aborted', 'the request was aborted by the caller', { cause: signal.reason });
  }
  return transportError(error, new URL(baseUrl).host);
}

function undiciRequest(
  baseUrl: string,
  request: HttpRequest,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Dispatcher.RequestOptions {
  const url = new URL(`${baseUrl}/${request.path.map(encodeURIComponent).join('/')}`);
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  // Sent so that a server sees from many callers that its own clock is wrong.
  const date = formatHttpDate(clock.now());
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', date, ...request.headers };
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method: request.method,
    headers,
    body: request.body ?? null,
    signal,
  };
}

function firstValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}

/** The whole body, given up on as soon as it is known to be larger than `limit`. */
async function readLimited(
  response: Dispatcher.ResponseData,
  headers: Readonly<Record<string, string | undefined>>,
  limit: number,
): Promise<Uint8Array> {
  try {
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') {
      // we ask for none, so a small answer cannot grow beyond the limit when it is unpacked
      throw new SignetClientError('response-malformed', 'the response is compressed, which was not requested');
    }
    const chunks: Buffer[] = [];
    let size = Number(headers['content-length'] ?? 0) > limit ? limit + 1 : 0;
    if (size === 0) {
      for await (const chunk of response.body) {
        if (!(chunk instanceof Uint8Array)) continue;
        size += chunk.length;
        if (size > limit) break;
        chunks.push(Buffer.from(chunk));
      }
    }
    if (size > limit) {
      throw new SignetClientError('response-too-large', `the answer is larger than ${limit} bytes`);
    }
    return Buffer.concat(chunks);
  } finally {
    // ends the connection when the answer was not read to its end
    response.body.once('error', () => undefined).destroy();
  }
}
