import { TLSSocket } from 'node:tls';
import type { Clock } from '@signet/policy-engine/clock';
import { UnauthenticatedError } from '../errors.ts';
import {
  type ClientCertificate,
  checkClientCertificate,
  type IsRevoked,
  type Principal,
  readClientCertificate,
} from '../principal.ts';
import { verifyPrincipalToken } from '../principal-token.ts';
import type { ProfileRules } from '../profile.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { ClientTrust } from './client-trust.ts';
import type { AppContext, Middleware } from './context.ts';

export interface AuthenticationDeps {
  readonly profile: ProfileRules;
  readonly snapshot: () => Snapshot;
  readonly clock: Clock;
  /** Whether a path answers callers without a certificate (decision 7). */
  readonly isOpen: (path: string) => boolean;
  /** Whether a request may come without a certificate; one that is presented must be valid all the same (decision 7). */
  readonly isOptional: (method: string, path: string) => boolean;
  readonly isRevoked: IsRevoked;
  readonly trust: ClientTrust;
  /** Whether a principal token names the caller on a path (decision 10). */
  readonly takesPrincipalToken: (path: string) => boolean;
}

/**
 * Decides who calls before anything of the request is read (decision 7). What the certificate says is read once a connection and kept
 * with its socket; its dates and the state of its principal are compared on every request. Headers that claim a
 * certificate mean nothing here.
 */
export function authentication(deps: AuthenticationDeps): Middleware {
  const certificateOf = connectionCertificates(deps.trust);
  return (ctx, next) => {
    const isFree = deps.isOpen(ctx.path) || (deps.isOptional(ctx.method, ctx.path) && !presentsCertificate(ctx));
    if (!isFree) ctx.state.principal = authenticate(deps, ctx, certificateOf);
    return next();
  };
}

function presentsCertificate(ctx: AppContext): boolean {
  const { socket } = ctx.req;
  return socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined;
}

type CertificateReader = (ctx: AppContext) => ClientCertificate;

function authenticate(deps: AuthenticationDeps, ctx: AppContext, certificateOf: CertificateReader): Principal {
  const header = ctx.req.headers[deps.profile.principalTokenHeader];
  if (header === undefined || !deps.takesPrincipalToken(ctx.path)) return byCertificate(deps, ctx, certificateOf);
  if (!deps.profile.principalTokenAlone) {
    // INVARIANT: the connection's own certificate is checked first, a token never stands in for it.
    byCertificate(deps, ctx, certificateOf);
    return byPrincipalToken(deps, header);
  }
  try {
    return byPrincipalToken(deps, header);
  } catch (error) {
    if (deps.profile.badPrincipalToken === 'refused' || !(error instanceof UnauthenticatedError)) throw error;
    return byCertificate(deps, ctx, certificateOf);
  }
}

function byCertificate(deps: AuthenticationDeps, ctx: AppContext, certificateOf: CertificateReader): Principal {
  const certificate = certificateOf(ctx);
  const principal = checkClientCertificate(certificate, deps.snapshot(), deps.isRevoked, deps.clock.now());
  ctx.state.certificate = certificate;
  return principal;
}

function byPrincipalToken(deps: AuthenticationDeps, header: string | string[]): Principal {
  // A header sent twice arrives joined by a comma and blank, which no token holds.
  const token = typeof header === 'string' ? header : header.join(', ');
  return { kind: 'identity', name: verifyPrincipalToken(token, deps.snapshot(), deps.clock.now()) };
}

interface KnownConnection {
  readonly certificate: ClientCertificate;
  /** The authorities that it was checked against. */
  readonly generation: number;
}

function connectionCertificates(trust: ClientTrust): CertificateReader {
  const known = new WeakMap<object, KnownConnection>();
  return (ctx) => {
    const { socket } = ctx.req;
    const { generation } = trust;
    const read = known.get(socket);
    if (read?.generation === generation) return read.certificate;
    const certificate = read?.certificate ?? readConnection(socket);
    // A handshake checks against the authorities of its moment; those that were taken away since count no more.
    if ((read?.generation ?? trust.handshakeOf(socket)) !== generation) requireTrust(socket, trust);
    known.set(socket, { certificate, generation });
    return certificate;
  };
}

function requireTrust(socket: unknown, trust: ClientTrust): void {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate !== undefined && trust.trusts(certificate)) return;
  // A new handshake decides, for those whose chain is not known here.
  throw new UnauthenticatedError('client certificate is not valid', { detail: { reason: 'authority withdrawn' } });
}

function readConnection(socket: unknown): ClientCertificate {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (!(socket instanceof TLSSocket) || certificate === undefined) {
    throw new UnauthenticatedError('a client certificate is required');
  }
  if (!socket.authorized) {
    const reason = String(socket.authorizationError);
    throw new UnauthenticatedError('client certificate is not valid', { detail: { reason } });
  }
  const read = readClientCertificate(certificate);
  if (typeof read !== 'string') return read;
  throw new UnauthenticatedError('client certificate names no principal', { detail: { reason: read } });
}
