import type { Socket } from 'node:net';
import type Router from '@koa/router';
import type Koa from 'koa';
import { ForbiddenError, MissingCredentialsError, UnauthenticatedError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Observer } from '../observer.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { type AuthenticationDeps, authentication } from './authentication.ts';
import type { Admission, BudgetRules } from './budget.ts';
import type { AppContext, Middleware, RequestState } from './context.ts';
import { directRoutes } from './direct-routes.ts';
import { errorAnswer, errorBody } from './error-response.ts';
import { KoaApp } from './koa-app.ts';
import { KoaRouter } from './koa-router.ts';
import { lingeringAnswer } from './lingering-answer.ts';
import { type OutstandingLimits, outstanding } from './outstanding.ts';
import { strictTransport, writePlainAnswer } from './plain-answer.ts';
import { requireMatch } from './read-preconditions.ts';
import { requestLog } from './request-log.ts';
import { TransportError } from './transport-error.ts';
import { transportRules } from './transport-rules.ts';

interface AppDeps extends AuthenticationDeps {
  readonly logger: Logger;
  /** True to log requests answered below 500 as well. */
  readonly logRequests: boolean;
  readonly limits: OutstandingLimits & {
    readonly urlBytes: number;
    readonly bodyBytes: number;
    readonly largeBodyBytes: number;
  };
  /** True if requests to a path may carry certificate requests or documents (docs/reference/http.md#limits). */
  readonly takesLargeBody: (path: string) => boolean;
  /** The path whose errors carry the members of RFC 6749 as well. */
  readonly tokenPath: string;
  /** Mounts the busiest operations on a router of their own: every route of a router is compared with every path. */
  readonly busyRoutes: (router: Router<RequestState>) => void;
  /** Mounts the other operations on the router. */
  readonly routes: (router: Router<RequestState>) => void;
  /** Called for every credential that is refused. */
  readonly onRefused: (reason: string) => void;
  /** Observer of every answer; absent if nothing is measured. */
  readonly observer?: Pick<Observer, 'answered' | 'tokenRefused'> | undefined;
  /** Tracing; absent if no spans are collected. */
  readonly tracing?: Tracing | undefined;
  /** True if a connection was answered and closed before its request was read. */
  readonly isAnswered: (socket: Socket) => boolean;
  /** True if a request of this path to this host is meant for this server. */
  readonly isOwnHost: (host: string, path: string) => boolean;
  /** Address of a connection's client. */
  readonly addressOf: (socket: Socket) => string;
  readonly budget: BudgetRules | undefined;
  /** Promise to await before a request is decided; mostly undefined. Never rejects. Absent: never any. */
  readonly catchUp?: (() => Promise<void> | undefined) | undefined;
  /** The first part of every request id: unique to this process. */
  readonly idPrefix: string;
}

/**
 * Middleware chain of a request in order (reference/http.md#order-of-checks), inside of the boundary with request id, error answer and access
 * log.
 */
export function createApp(deps: AppDeps): Koa<RequestState> {
  const app = new KoaApp();
  if (deps.tracing !== undefined) app.use(traced(deps.tracing));
  app.use(requestBoundary(deps));
  const served: string[] = [];
  const routerOf = (mount: (router: Router<RequestState>) => void) => {
    const router = new KoaRouter<RequestState>({ sensitive: true, strict: true });
    mount(router);
    for (const { methods, path } of router.stack) served.push(`${methods.join()} ${String(path)}`);
    return router;
  };
  app.use(directRoutes(routerOf(deps.busyRoutes)));
  app.use(routerOf(deps.routes).routes());
  deps.logger.debug({ served }, 'operations');
  app.use(unmatched);
  // Reached when an answer cannot be written any more: the caller is gone.
  app.on('error', (error: unknown) => deps.logger.debug({ error: describe(error) }, 'response was not delivered'));
  return app;
}

/** Around the boundary, which never throws. */
function traced(tracing: Tracing): Middleware {
  return (ctx, next) => {
    const { traceparent } = ctx.req.headers;
    return tracing.request(typeof traceparent === 'string' ? traceparent : undefined, async () => {
      await next();
      return { method: ctx.method, route: routeOf(ctx), status: ctx.status };
    });
  };
}

/** The pattern that matched. */
function routeOf(ctx: AppContext): string | undefined {
  const route: unknown = ctx['_matchedRoute'];
  return typeof route === 'string' ? route : undefined;
}

/** Around everything else: turns what was thrown into an answer, once, here, and writes one line about the request. */
function requestBoundary(deps: AppDeps): Middleware {
  const { budget, observer } = deps;
  const check = guards(deps);
  const counted = outstanding(deps.limits, { bodyLimit: bodyLimitOf(deps), isProbe: deps.isProbe });
  const log = requestLog(deps);
  let count = 0;
  return async (ctx, next) => {
    const started = performance.now();
    count += 1;
    begin(deps, ctx, `${deps.idPrefix}-${count.toString(36)}`);
    let admission: Admission | undefined;
    try {
      const late = deps.catchUp?.();
      if (late !== undefined) await late;
      check(ctx);
      admission = budget?.admit(ctx);
      if (admission?.refusal !== undefined) await budget?.refuse(ctx, admission.refusal);
      const held = counted(ctx, admission);
      await next();
      held.answered(ctx);
      requireMatch(ctx);
    } catch (error) {
      answerError(deps, ctx, error);
    }
    admission?.settle(ctx);
    const { answer } = ctx.state;
    if (answer === undefined) completeHead(deps, ctx);
    const milliseconds = performance.now() - started;
    log(ctx, milliseconds);
    if (observer !== undefined) observe(deps, observer, ctx, milliseconds / 1000);
    if (answer !== undefined) writePlainAnswer(ctx, answer);
  };
}

/** Headers common to all answers. Names in lower case: Node folds others twice for each answer. */
function completeHead({ tokenPath }: AppDeps, { res, request, state }: AppContext): void {
  // RFC 6797 §7.2: never over plain HTTP.
  if (request.secure) res.setHeader(...strictTransport);
  // Compared here, after slashes of the path may have been merged.
  if (state.path === tokenPath) res.setHeader('pragma', 'no-cache');
  if (!res.hasHeader('cache-control')) res.setHeader('cache-control', 'no-store');
}

function begin(deps: AppDeps, { res, req, state }: AppContext, requestId: string): void {
  // Budgets, limits and streams wait for its end: more than the ten of which Node warns.
  res.setMaxListeners(0);
  state.requestId = requestId;
  state.path = '';
  state.announcedBytes = 0;
  state.address = deps.addressOf(req.socket);
  state.work = 0;
}

/** Checks before the budget. One function instead of middlewares, which would cost every request a promise or two. */
function guards(deps: AppDeps): (ctx: AppContext) => void {
  const { urlBytes } = deps.limits;
  const checkTransport = transportRules({ ...deps, urlBytes, bodyLimit: bodyLimitOf(deps) });
  const authenticate = authentication(deps);
  const authenticateAgain = (ctx: AppContext): Promise<void> | undefined => {
    const late = deps.catchUp?.();
    if (late !== undefined) return late.then(() => authenticate(ctx));
    authenticate(ctx);
    return undefined;
  };
  return (ctx) => {
    checkTransport(ctx);
    authenticate(ctx);
    ctx.state.authenticateAgain = authenticateAgain;
  };
}

/** INVARIANT: each request is counted once: those that are answered below HTTP are counted there. */
function observe(
  { isAnswered }: AppDeps,
  observer: Pick<Observer, 'answered'>,
  ctx: AppContext,
  seconds: number,
): void {
  const { socket } = ctx.req;
  if (!socket.writable && isAnswered(socket)) return;
  observer.answered(routeOf(ctx), ctx.method, socket.writable ? ctx.status : 0, seconds);
}

function answerError(deps: AppDeps, ctx: AppContext, error: unknown): void {
  const answer = errorAnswer(error);
  ctx.state.answer = undefined;
  const refused = refusedCredential(deps, ctx, error);
  if (refused !== undefined) deps.onRefused(refused);
  if (error instanceof UnauthenticatedError) deps.budget?.unauthenticated(ctx);
  if (answer.unexpected)
    deps.logger.error({ requestId: ctx.state.requestId, error: describe(error) }, 'unexpected error');
  ctx.state.logDetail = { message: answer.message, ...(answer.detail !== undefined && { detail: answer.detail }) };
  if (ctx.state.path === deps.tokenPath) deps.observer?.tokenRefused(answer.oauthError);
  for (const name of ['ETag', 'Content-Type', 'Last-Modified']) ctx.remove(name);
  ctx.set('Cache-Control', 'no-store');
  ctx.set('X-Request-Id', ctx.state.requestId);
  for (const [name, value] of Object.entries(answer.headers)) ctx.set(name, value);
  const challenge = answer.status === 401 ? challengeOf(deps, ctx) : undefined;
  if (challenge !== undefined) ctx.set('WWW-Authenticate', challenge);
  // The rest of a small body is read and dropped; a connection with a body without a known end is closed.
  if (ctx.req.headers['transfer-encoding'] !== undefined && !ctx.req.complete) ctx.set('Connection', 'close');
  ctx.status = answer.status;
  // Set before the body: Koa then leaves the type alone.
  ctx.res.setHeader('Content-Type', 'application/json');
  const text = JSON.stringify(errorBody(answer, ctx.state.path === deps.tokenPath));
  const lingers = !ctx.req.complete && ctx.res.getHeader('Connection') === 'close';
  ctx.body = lingers ? lingeringAnswer(text, ctx.req) : text;
  if (lingers) ctx.length = Buffer.byteLength(text);
}

/**
 * `WWW-Authenticate` of a 401. On the token endpoint only for a request with `Authorization`, and with its scheme (RFC 6749 §5.2, decision
 * 037): OAuth clients that see one do not read the error.
 */
function challengeOf({ profile, tokenPath }: AppDeps, ctx: AppContext): string | undefined {
  if (ctx.state.path !== tokenPath) return profile.challenge;
  const { authorization } = ctx.req.headers;
  if (authorization === undefined) return undefined;
  return /^basic(\s|$)/i.test(authorization) ? `Basic realm="${profile.name}"` : profile.challenge;
}

/** Reason why a credential was refused, in a text of the server's own; undefined when there was none or it was not the reason. */
function refusedCredential(deps: AppDeps, ctx: AppContext, error: unknown): string | undefined {
  if (error instanceof MissingCredentialsError) return undefined;
  if (error instanceof UnauthenticatedError) return error.message;
  if (!(error instanceof ForbiddenError) || !deps.isOptional(ctx.method, ctx.state.path)) return undefined;
  // Join tokens and attestation data are credentials as well.
  return String(ctx['_matchedRoute']).endsWith('/login') ? 'login refused' : 'instance not attested';
}

/** Maximum length of a request's body, by path. */
function bodyLimitOf({ limits, takesLargeBody }: AppDeps): (path: string) => number {
  return (path) => (takesLargeBody(path) ? limits.largeBodyBytes : limits.bodyBytes);
}

/** RFC 9110 §9.3 and RFC 5789; Node's parser knows more. */
const standardMethods: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '));

/**
 * Fallback after the router: an unknown method is 501 (RFC 9110 §15.6.2), a known path with another method is 405, everything else 404
 * (docs/reference/http.md#errors).
 */
const unmatched: Middleware = (ctx) => {
  if (ctx['_matchedRoute'] !== undefined) return;
  if (!standardMethods.has(ctx.method)) throw new TransportError(501, 'the method is not known');
  const layers: unknown = ctx['matched'];
  const methods = new Set<string>();
  for (const layer of Array.isArray(layers) ? layers : []) {
    for (const method of layer.methods) methods.add(String(method));
  }
  if (methods.size === 0) {
    const hint = /\/v1(\/|$)/.test(ctx.path) ? '' : ': the base URL of this server ends in `/v1`';
    throw new TransportError(404, `there is nothing at this path${hint}`);
  }
  throw new TransportError(405, 'the method is not allowed at this path', { Allow: [...methods].sort().join(', ') });
};

function describe(error: unknown): unknown {
  return error instanceof Error ? { name: error.name, message: error.message, stack: error.stack } : String(error);
}
