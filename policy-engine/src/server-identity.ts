import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { PolicyEngineError } from './errors.ts';
import { InvalidNameError, parsePrincipalName, splitPrincipal } from './names/index.ts';

export { PolicyEngineError } from './errors.ts';

/** Default name of the token server for its clients. */
export const defaultServerIdentity = 'sys.auth.server';

/** Value of `serverIdentity` for a server with a public certificate: its host name alone identifies it. */
export const hostNameOnly = 'host-name';

/** `code` of the error for a certificate that is not the token server's. */
export const serverIdentityCode = 'ERR_TLS_SERVER_IDENTITY';

/** Check for `checkServerIdentity` of `node:tls`. */
export type ServerCheck = (host: string, certificate: PeerCertificate) => Error | undefined;

const spiffeId = /^spiffe:\/\/[a-z0-9._-]{1,255}(?:\/[a-zA-Z0-9._-]{1,255})+$/;
/** The id of a service in any trust domain of the authority. */
const serviceId = /^spiffe:\/\/[a-z0-9._-]{1,255}\/ns\/default\/sa\/([a-z0-9._-]{1,256})$/;

/**
 * Checks that the certificate of a server is the token server's: services get certificates of the same authority, for the
 * hosts that they run on. `identity` is the server's principal (`sys.auth.server`, in any trust domain), a whole SPIFFE id, or
 * `host-name`. The name of the host is checked in any case. Throws `PolicyEngineError('invalid-options')` for another text.
 */
export function checkServerIs(identity: string = defaultServerIdentity): ServerCheck {
  if (identity === hostNameOnly) return checkServerIdentity;
  const isWanted = matcherOf(identity);
  return (host, certificate) =>
    checkServerIdentity(host, certificate) ?? checkId(host, certificate, identity, isWanted);
}

function checkId(
  host: string,
  certificate: PeerCertificate,
  identity: string,
  isWanted: (id: string) => boolean,
): Error | undefined {
  const [id, ...more] = urisOf(certificate);
  if (id !== undefined && more.length === 0 && isWanted(id)) return undefined;
  const found = id === undefined ? 'has no SPIFFE id' : `is of \`${[id, ...more].join(' ').slice(0, 300)}\``;
  const message = `the certificate of \`${host}\` ${found}, not of the token server \`${identity}\` (\`serverIdentity\`)`;
  return Object.assign(new Error(message), { code: serverIdentityCode });
}

function matcherOf(identity: string): (id: string) => boolean {
  if (typeof identity === 'string' && spiffeId.test(identity)) return (id) => id === identity;
  const principal = serviceOf(identity);
  return (id) => serviceId.exec(id)?.[1] === principal;
}

function serviceOf(identity: string): string {
  try {
    const principal = parsePrincipalName(identity, 'serverIdentity');
    // a name without a dot would be that of a user
    if (identity.includes('.') && splitPrincipal(principal) !== undefined) return principal;
  } catch (error) {
    if (!(error instanceof InvalidNameError)) throw error;
  }
  throw new PolicyEngineError(
    'invalid-options',
    '`serverIdentity` must be a principal such as `sys.auth.server`, a SPIFFE id, or `host-name`',
  );
}

/** URIs among the names. Node quotes an ambiguous name: no Signet server has one, so it is skipped. */
function urisOf({ subjectaltname: names = '' }: PeerCertificate): string[] {
  if (names.includes('"')) return [];
  return names.split(', ').flatMap((name) => (name.startsWith('URI:') ? [name.slice('URI:'.length)] : []));
}
