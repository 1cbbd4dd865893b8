import { PolicyEngineError } from '@signet/policy-engine';
import type { ResourceError } from '@signet/policy-engine/wire';
import { shortText } from '../base/short-text.ts';
import { type DocumentProblem, DomainError, type DomainErrorCode, RelayedError, StoreRefusedError } from '../errors.ts';
import { TransportError } from './transport-error.ts';

/** Error in the form of an answer. `detail` is for the log only; `unexpected` marks a fault of the server. */
interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
  /** RFC 6749 §5.2, for the token endpoint. */
  readonly oauthError: string;
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly unexpected: boolean;
  /** Problems in documents, each with its place. */
  readonly problems?: readonly DocumentProblem[];
}

/** Default of `Retry-After`: the cause is over soon or takes an operator, so that an immediate retry helps in neither case. */
const usualRetrySeconds = 5;

/** The one place that knows which status and which OAuth code a failure has (docs/reference/http.md#errors). */
const answers: Readonly<Record<DomainErrorCode, readonly [status: number, oauthError: string]>> = {
  'invalid-request': [400, 'invalid_request'],
  'invalid-scope': [400, 'invalid_scope'],
  'invalid-target': [400, 'invalid_target'],
  'unsupported-grant': [400, 'unsupported_grant_type'],
  'invalid-document': [400, 'invalid_request'],
  unauthenticated: [401, 'invalid_client'],
  forbidden: [403, 'unauthorized_client'],
  'no-granted-roles': [403, 'invalid_scope'],
  'unknown-domain': [404, 'invalid_scope'],
  'not-found': [404, 'invalid_scope'],
  conflict: [409, 'invalid_request'],
  'precondition-failed': [412, 'invalid_request'],
  'provider-failed': [500, 'server_error'],
  'too-large': [413, 'invalid_request'],
  'too-many-requests': [429, 'temporarily_unavailable'],
  'store-unavailable': [503, 'temporarily_unavailable'],
  'store-refused': [503, 'temporarily_unavailable'],
  'service-unavailable': [503, 'temporarily_unavailable'],
};

/** Answer to `error`, in at most `maxMessageBytes`. An unexpected failure is a fault of the server: 500 and a fixed text. */
export function errorAnswer(error: unknown): ErrorAnswer {
  const answer = fullAnswer(error);
  return { ...answer, message: shortText(answer.message) };
}

function fullAnswer(error: unknown): ErrorAnswer {
  if (error instanceof DomainError) {
    const [status, oauthError] = answers[error.code];
    const retryAfter = error.retryAfterSeconds ?? (status === 503 ? usualRetrySeconds : undefined);
    return {
      status,
      oauthError,
      ...spoken(error),
      ...(error instanceof RelayedError && error.problems !== undefined && { problems: error.problems }),
      headers: retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) },
      unexpected: false,
    };
  }
  if (error instanceof TransportError) {
    const { status, message, headers } = error;
    return { status, message, headers, oauthError: 'invalid_request', unexpected: false };
  }
  if (error instanceof PolicyEngineError && error.code === 'invalid-name') {
    return { status: 400, message: error.message, headers: {}, oauthError: 'invalid_request', unexpected: false };
  }
  return { status: 500, message: 'internal error', headers: {}, oauthError: 'server_error', unexpected: true };
}

/** Texts for the caller and for the log. The path of the store on this machine is for the log only. */
function spoken(error: DomainError): Pick<ErrorAnswer, 'message' | 'detail'> {
  if (error instanceof StoreRefusedError) {
    return { message: 'the store cannot be used', detail: { reason: error.reason, refusal: error.message } };
  }
  return { message: error.message, ...(error.detail !== undefined && { detail: error.detail }) };
}

/** The body of an error: `ResourceError`, with the members of RFC 6749 §5.2 on the token endpoint (docs/reference/http.md#oauth-errors). */
export function errorBody(answer: ErrorAnswer, withOauthMembers: boolean): ResourceError {
  const { status: code, message, problems } = answer;
  const body = { code, message, ...(problems !== undefined && { problems }) };
  if (!withOauthMembers) return body;
  // RFC 6749 §5.2: error_description has no quotes, no backslash and nothing outside printable ASCII.
  const description = answer.message.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");
  return { ...body, error: answer.oauthError, error_description: description };
}
