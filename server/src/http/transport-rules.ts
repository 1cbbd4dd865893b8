import type { ProfileRules } from '../profile.ts';
import type { AppContext } from './context.ts';
import { hostOfAuthority } from './host-names.ts';
import { TransportError } from './transport-error.ts';

interface TransportDeps {
  readonly profile: Pick<ProfileRules, 'mergesSlashes'>;
  readonly urlBytes: number;
  /** Maximum length of a request's body, by path. */
  readonly bodyLimit: (path: string) => number;
  /** True if a request of this path to this host is meant for this server. */
  readonly isOwnHost: (host: string, path: string) => boolean;
}

/** Maximum of header lines, above that of any client. */
const maxHeaderLines = 100;

/** Throws for what Node's parser lets pass and we do not (docs/reference/http.md#limits). */
export function transportRules(deps: TransportDeps): (ctx: AppContext) => void {
  const { urlBytes, bodyLimit, profile } = deps;
  const hosts = { ...deps, hostOf: lastHost() };
  return (ctx) => {
    const { req, state } = ctx;
    const path = pathOf(ctx);
    state.path = path;
    const { headers } = req;
    if ((req.url?.length ?? 0) > urlBytes)
      throw new TransportError(414, 'the URL is too long', { Connection: 'close' });
    if (req.rawHeaders.length > 2 * maxHeaderLines) {
      throw new TransportError(431, 'too many headers', { Connection: 'close' });
    }
    checkHost(hosts, req, path);
    if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') {
      throw new TransportError(400, 'transfer encoding must be `chunked`', { Connection: 'close' });
    }
    state.announcedBytes = Number(headers['content-length'] ?? 0);
    if (state.announcedBytes > 0 && state.announcedBytes > bodyLimit(path)) {
      throw new TransportError(413, 'the body is too large', { Connection: 'close' });
    }
    if (!profile.mergesSlashes || !path.includes('//')) return;
    ctx.path = path.replace(/\/{2,}/g, '/');
    state.path = ctx.path;
  };
}

/** Throws for a target that is neither a path nor an address (RFC 9112 §3.2). */
function pathOf({ request }: AppContext): string {
  try {
    return request.path;
  } catch {
    throw new TransportError(400, 'the target of the request is malformed', { Connection: 'close' });
  }
}

/** The scheme and authority that a target may begin with (RFC 9112 §3.2.2). */
const absoluteForm = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]*)/;

/**
 * Requires exactly one Host header with a host in it (RFC 9112 §3.2). It, or the target if that names one, names an own host (RFC 9110 §7.4).
 */
function checkHost({ isOwnHost, hostOf }: HostDeps, req: AppContext['req'], path: string): void {
  const { host } = req.headers;
  const authority = req.url?.startsWith('/') === true ? host : (absoluteForm.exec(req.url ?? '')?.[1] ?? host);
  if (authority === undefined && req.httpVersion === '1.0') return;
  const asked = hostOf(authority ?? '');
  const isOnce = host === undefined ? req.httpVersion === '1.0' : countHosts(req.rawHeaders) === 1;
  const isMalformed = host !== undefined && host !== authority && hostOf(host) === undefined;
  if (asked === undefined || !isOnce || isMalformed) {
    throw new TransportError(400, 'the Host header is missing, repeated or malformed', { Connection: 'close' });
  }
  if (isOwnHost(asked, path)) return;
  const refused = 'the certificate of this server does not name the host of the request';
  throw new TransportError(421, refused, { Connection: 'close' });
}

interface HostDeps extends Pick<TransportDeps, 'isOwnHost'> {
  readonly hostOf: (authority: string) => string | undefined;
}

/** `hostOfAuthority`; the last one is kept, as nearly all clients ask for the same. */
function lastHost(): (authority: string) => string | undefined {
  let last = '';
  let host: string | undefined;
  return (authority) => {
    if (authority !== last) {
      host = hostOfAuthority(authority);
      last = authority;
    }
    return host;
  };
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
