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

/** Explanations of the usual failures, by the code of OpenSSL, Node or the system. */
const explanations: readonly (readonly [codes: RegExp, text: string])[] = [
  [
    /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER_CERT(_LOCALLY)?|VERIFY_LEAF_SIGNATURE))$/,
    'its certificate was not issued by a CA certificate of the client: use the CA certificates of this server',
  ],
  [/^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/, 'its certificate is for another host name'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, 'its certificate is not valid yet: check the clocks'],
  [
    /^ERR_SSL_.*_ALERT_(.*CERTIFICATE.*|UNKNOWN_CA|ACCESS_DENIED)$/,
    'it refused the client certificate: it must be one that this server or its authority issued',
  ],
  [/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/, 'it does not support TLS on this port'],
  [/^ECONNREFUSED$/, 'nothing listens on this port'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the host name cannot be resolved'],
];

function explanationOf(code: string): string {
  const found = explanations.find(([codes]) => codes.test(code));
  return found === undefined ? '' : `: ${found[1]}`;
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
    return new SignetClientError('timed-out', `no complete response from \`${host}\` in time`, options);
  }
  const impostor = causesOf(error).find((each) => 'code' in each && each.code === serverIdentityCode);
  if (impostor !== undefined) return new SignetClientError('tls', impostor.message, options);
  if (codes.some((each) => tlsCode.test(each))) {
    return new SignetClientError(
      'tls',
      `no trusted connection to \`${host}\` (${code})${explanationOf(code)}`,
      options,
    );
  }
  return new SignetClientError('unreachable', `\`${host}\` cannot be reached (${code})${explanationOf(code)}`, options);
}
