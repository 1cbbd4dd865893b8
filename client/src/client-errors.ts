/**
 * Error codes of this package; a closed list.
 *
 * - `invalid-argument`: a value given to the client is not usable; nothing was sent.
 * - `invalid-identity`: the certificate, key or CA files cannot be read, the key is not the certificate's, or the
 *   certificate has expired; nothing was sent.
 * - `invalid-cache`: `tokenCacheFile` cannot hold tokens; it is left alone. Calls go on without it.
 * - `unknown-key`: a token names a key that the server does not publish.
 * - `unreachable`: no connection (DNS, refused, no handshake in time), or it broke before the whole answer was in.
 * - `timed-out`: the answer took longer than the time-out.
 * - `tls`: the handshake failed: the server's certificate is not trusted, or is for another name, or the client's was
 *   refused.
 * - `aborted`: the caller's `AbortSignal` fired.
 * - `closed`: the client was closed.
 * - `refused`: the server answered 4xx; `status`, `serverMessage` and, on the token endpoint, `serverError` say why.
 * - `server-error`: the server answered 5xx or 429; `retryAfterSeconds` when it said when to come back.
 * - `redirected`: the server answered 3xx; redirects are never followed.
 * - `response-too-large`: the answer is larger than the limit of the operation.
 * - `response-malformed`: the answer is not what the operation announces.
 */
export type SignetClientErrorCode =
  | 'invalid-argument'
  | 'invalid-identity'
  | 'invalid-cache'
  | 'unknown-key'
  | 'unreachable'
  | 'timed-out'
  | 'tls'
  | 'aborted'
  | 'closed'
  | 'refused'
  | 'server-error'
  | 'redirected'
  | 'response-too-large'
  | 'response-malformed';

/** Content of an answer that is not a success. */
export interface ServerAnswer {
  readonly status: number;
  /** `code` of the body (the HTTP status again, docs/reference/http.md#errors), when the body had one. */
  readonly serverCode?: number;
  readonly serverMessage?: string;
  /** `error` of the body of the token endpoint (RFC 6749 §5.2). */
  readonly serverError?: string;
  /** Seconds of the `Retry-After` header. */
  readonly retryAfterSeconds?: number;
}

/** Every error that this package throws. `code` is stable; no message or field holds a token or a key. */
export class SignetClientError extends Error {
  override readonly name = 'SignetClientError';
  readonly code: SignetClientErrorCode;
  /** HTTP status, when there was an answer. */
  readonly status: number | undefined;
  readonly serverCode: number | undefined;
  readonly serverMessage: string | undefined;
  readonly serverError: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: SignetClientErrorCode, message: string, options?: ErrorOptions & { answer?: ServerAnswer }) {
    super(message, options);
    this.code = code;
    this.status = options?.answer?.status;
    this.serverCode = options?.answer?.serverCode;
    this.serverMessage = options?.answer?.serverMessage;
    this.serverError = options?.answer?.serverError;
    this.retryAfterSeconds = options?.answer?.retryAfterSeconds;
  }
}
