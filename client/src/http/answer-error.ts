import { parseHttpDate } from '@signet/policy-engine/clock';
import { type ServerAnswer, SignetClientError } from '../client-errors.ts';
import { isObject } from '../decode.ts';

/** Longest text of a server that goes into an error. */
const maxText = 500;

/** Text of the server made safe for one line of a log: bounded, without control characters. */
function plain(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return value.slice(0, maxText).replace(/\p{Cc}+/gu, ' ');
}

function bodyMembers(body: Uint8Array): Partial<ServerAnswer> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(body.subarray(0, 65_536)));
  } catch {
    return {};
  }
  if (!isObject(json)) return {};
  const { code } = json;
  const [message, error] = [plain(json['message']), plain(json['error'])];
  return {
    ...(typeof code === 'number' && { serverCode: code }),
    ...(message !== undefined && { serverMessage: message }),
    ...(error !== undefined && { serverError: error }),
  };
}

/** Seconds of a `Retry-After` header (RFC 9110 §10.2.3), a number or a date, at most a day. */
function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Math.min(Number(value), 86_400);
  const at = parseHttpDate(value);
  return at === undefined ? undefined : Math.min(Math.max(0, Math.ceil((at - now) / 1000)), 86_400);
}

/** The error for an answer that is not a success (docs/reference/http.md#errors: `{ code, message }`). `now` is for a date in `Retry-After`. */
export function answerError(
  status: number,
  headers: Readonly<Record<string, string | undefined>>,
  body: Uint8Array,
  now: number,
): SignetClientError {
  if (status >= 300 && status < 400) {
    return new SignetClientError('redirected', `the server answered ${status}, redirects are not followed`, {
      answer: { status },
    });
  }
  const retryAfterSeconds = retryAfter(headers['retry-after'], now);
  const answer: ServerAnswer = {
    status,
    ...bodyMembers(body),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
  const code = status >= 500 || status === 429 ? 'server-error' : 'refused';
  const reason = answer.serverMessage === undefined ? '' : `: ${answer.serverMessage}`;
  return new SignetClientError(code, `the server answered ${status}${reason}`, { answer });
}
