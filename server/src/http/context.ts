import type { RouterContext } from '@koa/router';
import type { JsonLimits } from '@signet/policy-engine/json';
import type Koa from 'koa';
import { ForbiddenError, MissingCredentialsError, UnauthenticatedError } from '../errors.ts';
import type { Caller } from '../instances/caller.ts';
import type { ClientCertificate, Principal } from '../principal.ts';
import type { VerifiedPrincipalToken } from '../principal-token.ts';
import { answerInSlices } from './slices.ts';

/** A short answer that is complete before its head is written. */
export interface PlainAnswer {
  readonly status: number;
  /** Names, in lower case, and values by turns. */
  readonly fields: string[];
  /** ASCII only. */
  readonly text: string;
}

/** What the middlewares leave for the handlers. */
export interface RequestState {
  requestId: string;
  /** The path that counts, in which slashes may have been merged. Kept here, as Koa reads the URL of the request each time. */
  path: string;
  /** The announced length of the body in bytes; 0: there is none, or it is not announced. */
  announcedBytes: number;
  /** Where the client is, as text; empty when the connection is gone. */
  address: string;
  /** What the request has cost beyond what its path tells, in microseconds (`budgets/costs.ts`). */
  work: number;
  /** Who calls; absent only where a request needs no certificate. */
  principal?: Principal;
  /** The verified certificate of the connection. */
  certificate?: ClientCertificate;
  /** The principal token that names the caller, where no certificate of the same principal does. */
  principalToken?: VerifiedPrincipalToken;
  /** Decides again who calls, after the request has waited for its client. Throws `UnauthenticatedError`. */
  authenticateAgain?: (ctx: AppContext) => Promise<void> | undefined;
  /** What a busy operation answers, which is written at once (`plain-answer.ts`); absent: the answer is what Koa knows of it. */
  answer?: PlainAnswer | undefined;
  /** Whether the text of the answer is kept for others, too. */
  isSharedAnswer?: boolean;
  /** What the body of the request may hold when it is JSON. */
  jsonLimits?: JsonLimits;
  /** For the log of requests: what was given, or why it was refused. As text: members of JSON, each of them short. */
  logDetail?: Readonly<Record<string, unknown>>;
}

export type AppContext = Koa.ParameterizedContext<RequestState>;
export type Middleware = Koa.Middleware<RequestState>;
export type RouteContext = RouterContext<RequestState>;

/** Who calls. Throws `UnauthenticatedError` when nobody was authenticated. */
export function requirePrincipal(ctx: { state: RequestState }): Principal {
  const { principal } = ctx.state;
  if (principal === undefined) throw new MissingCredentialsError('a client certificate is required');
  return principal;
}

/** The service or user who calls. Throws `ForbiddenError` for a role certificate (docs/reference/authentication.md#who-a-certificate-names). */
export function requireIdentity(ctx: { state: RequestState }): Extract<Principal, { kind: 'identity' }> {
  const principal = requirePrincipal(ctx);
  if (principal.kind === 'role') throw new ForbiddenError('a role certificate is not a service identity');
  return principal;
}

/** The service that calls with its own certificate, and from where. Throws as `requireIdentity` does. */
export function requireCaller(ctx: RouteContext): Caller {
  const { name } = requireIdentity(ctx);
  const { certificate } = ctx.state;
  if (certificate?.principal.name !== name) throw new UnauthenticatedError('the certificate of the caller is required');
  const { requestId, address } = ctx.state;
  return { principal: name, certificate, address, requestId };
}

/** Answers a JSON text, whole or in parts of UTF-8. */
export function answerJson(ctx: AppContext | RouteContext, json: string | readonly Uint8Array[]): void {
  // Set before the body: Koa then leaves the type alone.
  ctx.res.setHeader('content-type', 'application/json');
  if (typeof json === 'string') ctx.response.body = json;
  else answerInSlices(ctx, json);
}
