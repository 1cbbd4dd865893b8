import { SignetClientError } from '../errors.ts';

const timeOuts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** OpenSSL's verification results and the codes of Node's TLS layer. */
const tlsCode =
  /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|ERROR_IN_CERT_)/;

/** A connection that ended under the request: one that was kept alive may have been closed by the server in that moment. */
const brokenCodes = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') codes.push(at.code);
    if (at instanceof AggregateError) codes.push(...at.errors.flatMap((each) => codesOf(each)));
  }
  return codes;
}

/** Whether the same request may succeed at once on a new connection. */
export function isBrokenConnection(error: unknown): boolean {
  const codes = codesOf(error);
  return codes.some((code) => brokenCodes.has(code)) && !codes.some((code) => tlsCode.test(code));
}

/** What an error below HTTP means to the caller. `host` is where the request went. */
export function transportError(error: unknown, host: string): SignetClientError {
  if (error instanceof SignetClientError) return error;
  const codes = codesOf(error);
  const options = { cause: error };
  const code = codes.at(-1) ?? 'no code';
  if (codes.some((each) => each === 'UND_ERR_DESTROYED' || each === 'UND_ERR_CLOSED')) {
    return new SignetClientError('closed', 'the client was closed during the request', options);
  }
  if (codes.some((each) => timeOuts.has(each))) {
    return new SignetClientError('timed-out', `no whole answer from \`${host}\` in time`, options);
  }
  if (codes.some((each) => tlsCode.test(each))) {
    return new SignetClientError('tls', `no trusted connection to \`${host}\` (${code})`, options);
  }
  return new SignetClientError('unreachable', `\`${host}\` cannot be reached (${code})`, options);
}
