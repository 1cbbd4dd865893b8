import type { RouterContext } from '@koa/router';
import type { JsonLimits } from '@signet/policy-engine/json';
import type Koa from 'koa';
import { ForbiddenError, MissingCredentialsError, UnauthenticatedError } from '../errors.ts';
import type { Caller } from '../instances/caller.ts';
import type { ClientCertificate, Principal } from '../principals/principal.ts';
import type { VerifiedPrincipalToken } from '../principals/principal-token.ts';
import { answerInSlices } from './slices.ts';

/** A short answer that is complete before its head is written. */
export interface PlainAnswer {
  readonly status: number;
  /** Header names, in lower case, and values, alternating. */
  readonly fields: string[];
  /** ASCII only. */
  readonly text: string;
}

/** State that the middlewares leave for the handlers. */
export interface RequestState {
  requestId: string;
  /** The path that counts, in which slashes may have been merged. Kept here, as Koa reads the URL of the request each time. */
  path: string;
  /** The announced length of the body in bytes; 0: there is none, or it is not announced. */
  announcedBytes: number;
  /** Address of the client, as text; empty when the connection is gone. */
  address: string;
  /** Cost of the request beyond that of its path, in microseconds (`budgets/costs.ts`). */
  work: number;
  /** Caller; absent only where a request needs no certificate. */
  principal?: Principal;
  /** The verified certificate of the connection. */
  certificate?: ClientCertificate;
  /** The principal token that names the caller, where no certificate of the same principal does. */
  principalToken?: VerifiedPrincipalToken;
  /** Decides again who calls, after the request has waited for its client. Throws `UnauthenticatedError`. */
  authenticateAgain?: (ctx: AppContext) => Promise<void> | undefined;
  /** Answer of a busy operation, which is written at once (`plain-answer.ts`); absent: the answer is in Koa's context. */
  answer?: PlainAnswer | undefined;
  /** True if the text of the answer is kept for others, too. */
  isSharedAnswer?: boolean;
  /** Limits of the request's body when it is JSON. */
  jsonLimits?: JsonLimits;
  /** Members for the log of requests: what was granted, or why it was refused. As text: members of JSON, each of them short. */
  logDetail?: Readonly<Record<string, unknown>>;
}

export type AppContext = Koa.ParameterizedContext<RequestState>;
export type Middleware = Koa.Middleware<RequestState>;
export type RouteContext = RouterContext<RequestState>;

/** Principal of the caller. Throws `UnauthenticatedError` if there is none. */
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
