import { serverIdentityCode } from '@signet/policy-engine/server-identity';
import { SignetClientError } from '../client-errors.ts';

const timeOuts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** OpenSSL's verification results and the codes of Node's TLS layer. */
const tlsCode =
  /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|ERROR_IN_CERT_)/;

/** A connection that ended under the request: one that was kept alive may have been closed by the server in that moment. */
const brokenCodes = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** An error and what led to it, the outermost first. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    causes.push(at);
    if (at instanceof AggregateError) causes.push(...at.errors.flatMap((each) => causesOf(each)));
  }
  return causes;
}

function codesOf(error: unknown): string[] {
  return causesOf(error).flatMap((each) => ('code' in each && typeof each.code === 'string' ? [each.code] : []));
}

/** True if the same request may succeed at once on a new connection. */
export function isBrokenConnection(error: unknown): boolean {
  const codes = codesOf(error);
  return codes.some((code) => brokenCodes.has(code)) && !codes.some((code) => tlsCode.test(code));
}

/** Maps an error below HTTP to an error of the client. `host` is where the request went. */
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
  const impostor = causesOf(error).find((each) => 'code' in each && each.code === serverIdentityCode);
  if (impostor !== undefined) return new SignetClientError('tls', impostor.message, options);
  if (codes.some((each) => tlsCode.test(each))) {
    return new SignetClientError('tls', `no trusted connection to \`${host}\` (${code})`, options);
  }
  return new SignetClientError('unreachable', `\`${host}\` cannot be reached (${code})`, options);
}
