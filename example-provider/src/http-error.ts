/** A request that is refused. `message` goes to the caller, `reason` to the log. */
export class HttpError extends Error {
  override readonly name: string = 'HttpError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Refusal of a request. */
interface Refusal {
  /** Reason for the log: a status of the policy engine, or the missing part. Never sent to the caller. */
  readonly reason: string;
  /** Message for the caller. */
  readonly message: string;
  /** Set where access tokens decide: what was wrong with this one (RFC 6750 §3.1). */
  readonly token?: 'missing' | 'invalid_request' | 'invalid_token' | 'insufficient_scope';
}

/** 403 for every refusal (docs/reference/protected-services.md#refusals). */
export class AccessRefusedError extends HttpError {
  override readonly name = 'AccessRefusedError';
  readonly reason: string;

  constructor({ reason, message, token }: Refusal) {
    super(403, message, token === undefined ? {} : { 'WWW-Authenticate': challengeOf(token, message) });
    this.reason = reason;
  }
}

/** Challenge for a refused token; without a token there is no error code (RFC 6750 §3.1). */
function challengeOf(token: NonNullable<Refusal['token']>, message: string): string {
  return token === 'missing' ? 'Bearer' : `Bearer error="${token}", error_description="${message}"`;
}
