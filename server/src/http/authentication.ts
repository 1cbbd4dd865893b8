import { TLSSocket } from 'node:tls';
import type { Clock } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { costs } from '../budgets/costs.ts';
import { MissingCredentialsError, ServiceUnavailableError, UnauthenticatedError } from '../errors.ts';
import {
  type ClientCertificate,
  checkClientCertificate,
  type IsRevoked,
  type Principal,
  readClientCertificate,
} from '../principals/principal.ts';
import { type ServerTokens, verifyPrincipalToken } from '../principals/principal-token.ts';
import type { ProfileRules } from '../profile.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { CallerClocks } from './caller-clocks.ts';
import { certificateRefusal } from './certificate-refusal.ts';
import type { ClientTrust } from './client-trust.ts';
import type { AppContext } from './context.ts';
import { type PrincipalTokenUse, recentSeconds } from './principal-token-use.ts';

/** Headers that carry a principal token: Signet's and the one of Athenz, in both profiles, so that none is trusted unread. */
const ownHeader = 'svc-principal-auth';
const athenzHeader = 'athenz-principal-auth';

export interface AuthenticationDeps {
  readonly profile: ProfileRules;
  readonly snapshot: () => Snapshot;
  readonly clock: Clock;
  /** True if a path answers callers without a certificate (docs/reference/authentication.md#client-certificates). */
  readonly isOpen: (path: string) => boolean;
  /** True if a path serves probes. It is open, and answers more to some: a caller with an invalid certificate is answered like one without. */
  readonly isProbe: (path: string) => boolean;
  /** True if `anonymousKeys` would open a path: who comes without a certificate learns that. */
  readonly isPublishable: (path: string) => boolean;
  /**
   * True if a request may come without a certificate; one that is presented must be valid all the same
   * (docs/reference/authentication.md#client-certificates).
   */
  readonly isOptional: (method: string, path: string) => boolean;
  readonly isRevoked: IsRevoked;
  /** Principal tokens that the server itself signs; absent: it signs none. */
  readonly serverTokens?: ServerTokens | undefined;
  readonly trust: ClientTrust;
  /** Recorder of the time at authenticated callers; absent if none authenticate. */
  readonly callerClocks?: Pick<CallerClocks, 'note'> | undefined;
  /** Use of a principal token on a request (docs/reference/authentication.md#principal-tokens). */
  readonly principalTokenUse: (method: string, path: string) => PrincipalTokenUse;
}

/**
 * Decides who calls before anything of the request is read (docs/reference/authentication.md#client-certificates). What the certificate
 * says is read once a connection and kept with its socket; its dates and the state of its principal are compared on every request. Headers
 * that claim a certificate mean nothing here.
 */
export function authentication(deps: AuthenticationDeps): (ctx: AppContext) => void {
  const certificateOf = connectionCertificates(deps);
  return (ctx) => {
    const { path } = ctx.state;
    if (deps.isOpen(path)) {
      if (deps.isProbe(path) && presentsCertificate(ctx)) recognize(deps, ctx, certificateOf);
    } else if (!deps.isOptional(ctx.req.method ?? '', path) || presentsCertificate(ctx)) {
      ctx.state.principal = authenticate(deps, ctx, certificateOf);
      noteTime(deps, ctx);
    }
  };
}

function noteTime({ callerClocks }: AuthenticationDeps, { req, state: { principal } }: AppContext): void {
  const { date } = req.headers;
  if (date !== undefined && principal?.kind === 'identity') callerClocks?.note(principal.name, date);
}

function presentsCertificate(ctx: AppContext): boolean {
  const { socket } = ctx.req;
  return socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined;
}

/** The caller is known if the certificate is good, and anyone if it is not. */
function recognize(deps: AuthenticationDeps, ctx: AppContext, certificateOf: CertificateReader): void {
  try {
    ctx.state.principal = byCertificate(deps, ctx, certificateOf);
  } catch (error) {
    if (!(error instanceof UnauthenticatedError || error instanceof ServiceUnavailableError)) throw error;
  }
}

type CertificateReader = (ctx: AppContext) => ClientCertificate;

function authenticate(deps: AuthenticationDeps, ctx: AppContext, certificateOf: CertificateReader): Principal {
  const token = principalTokenOf(ctx);
  if (token === undefined) return byCertificate(deps, ctx, certificateOf);
  const use = deps.principalTokenUse(ctx.method, ctx.state.path);
  const mayStandAlone = deps.profile.principalTokenAlone && use !== 'confirms';
  // INVARIANT: a certificate that is presented is valid, whatever token comes with it.
  const holder = mayStandAlone && !presentsCertificate(ctx) ? undefined : byCertificate(deps, ctx, certificateOf);
  ctx.state.work += costs.verification;
  const { findKeyId } = deps.profile;
  const verified = verifyPrincipalToken(
    token,
    { snapshot: deps.snapshot(), findKeyId, serverTokens: deps.serverTokens },
    deps.clock.now(),
  );
  const { principal, issuedAt } = verified;
  if (holder?.kind === 'identity' && holder.name === principal) return holder;
  requireUse(use, principal, issuedAt, deps.clock.now());
  ctx.state.principalToken = verified;
  return { kind: 'identity', name: principal };
}

/** Requires that a token may name the caller although the certificate does not. Throws `UnauthenticatedError`. */
function requireUse(use: PrincipalTokenUse, claimed: PrincipalName, issuedAt: number, now: number): void {
  if (use === 'confirms') {
    // INVARIANT: neither of the two is taken for the caller then.
    throw new UnauthenticatedError('the client certificate must name the principal of the principal token here', {
      detail: { claimed },
    });
  }
  if (use === 'names-caller' || Math.floor(now / 1000) <= issuedAt + recentSeconds) return;
  const text = `the principal token must be issued within the last ${recentSeconds} seconds here`;
  throw new UnauthenticatedError(text, { detail: { claimed } });
}

/** The token of a request. Throws `UnauthenticatedError` when its headers differ. */
function principalTokenOf({ req }: AppContext): string | undefined {
  const { headers } = req;
  if (headers[ownHeader] === undefined && headers[athenzHeader] === undefined) return undefined;
  const sent = [ownHeader, athenzHeader].flatMap((name) => {
    const value = headers[name];
    // A header sent twice arrives joined by a comma and blank, which no token holds.
    return value === undefined ? [] : [typeof value === 'string' ? value : value.join(', ')];
  });
  if (new Set(sent).size < 2) return sent[0];
  throw new UnauthenticatedError('principal token is not valid', { detail: { reason: 'two headers differ' } });
}

function byCertificate(deps: AuthenticationDeps, ctx: AppContext, certificateOf: CertificateReader): Principal {
  const certificate = certificateOf(ctx);
  const principal = checkClientCertificate(certificate, deps.snapshot(), deps.isRevoked, deps.clock.now());
  ctx.state.certificate = certificate;
  return principal;
}

interface KnownConnection {
  readonly certificate: ClientCertificate;
  /** The authorities that it was checked against. */
  readonly generation: number;
  readonly chain: Chain;
}

function connectionCertificates(deps: AuthenticationDeps): CertificateReader {
  const { trust } = deps;
  const known = new WeakMap<object, KnownConnection>();
  return (ctx) => {
    const { socket } = ctx.req;
    const { generation } = trust;
    const read = known.get(socket);
    if (read?.generation === generation) return requireTrust(ctx, read);
    const certificate = read?.certificate ?? readConnection(ctx, deps);
    // A handshake checks against the authorities of its moment; those that were removed since count no more.
    const isCurrent = (read?.generation ?? trust.handshakeOf(socket)) === generation;
    const checked = { certificate, generation, chain: isCurrent ? 'trusted' : chainOf(socket, trust) } as const;
    known.set(socket, checked);
    return requireTrust(ctx, checked);
  };
}

/** `unknown`: the authorities between it and a root are not known here, as the client has sent them in its handshake. */
type Chain = 'trusted' | 'withdrawn' | 'unknown';

function chainOf(socket: unknown, trust: ClientTrust): Chain {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return 'withdrawn';
  if (trust.trusts(certificate)) return 'trusted';
  return trust.isWithdrawn(certificate) ? 'withdrawn' : 'unknown';
}

/** A new handshake decides for those whose chain is not known here, which may be good: the connection ends with the answer. */
function requireTrust(ctx: AppContext, { certificate, chain }: KnownConnection): ClientCertificate {
  if (chain === 'trusted') return certificate;
  ctx.set('Connection', 'close');
  if (chain === 'unknown') {
    throw new ServiceUnavailableError('a client authority was removed: connect again', { retryAfterSeconds: 1 });
  }
  throw new UnauthenticatedError('client certificate is not valid', { detail: { reason: 'authority withdrawn' } });
}

const forAnyone = 'a client certificate is required here unless the operator of the server sets `anonymousKeys: true`';

function readConnection(ctx: AppContext, { clock, isPublishable }: AuthenticationDeps): ClientCertificate {
  const { socket } = ctx.req;
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (!(socket instanceof TLSSocket) || certificate === undefined) {
    throw new MissingCredentialsError(isPublishable(ctx.state.path) ? forAnyone : 'a client certificate is required');
  }
  if (!socket.authorized) {
    const reason = String(socket.authorizationError);
    // The handshake is over: only a new connection can present another certificate.
    ctx.set('Connection', 'close');
    throw new UnauthenticatedError(certificateRefusal(certificate, reason, clock.now()), { detail: { reason } });
  }
  const read = readClientCertificate(certificate);
  if (typeof read !== 'string') return read;
  throw new UnauthenticatedError('client certificate names no principal', { detail: { reason: read } });
}
