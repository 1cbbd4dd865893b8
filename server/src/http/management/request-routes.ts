import { parseDomainName, parseRoleName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import { parseBody } from '../../instances/instance-request.ts';
import { makeCursor, readCursor } from '../../management/paging.ts';
import { mayDecide, maySee } from '../../management/requests/approvers.ts';
import { rejectRequest, withdrawRequest } from '../../management/requests/close-request.ts';
import { isExpired } from '../../management/requests/decide.ts';
import { requestView } from '../../management/requests/request-view.ts';
import { parseReason } from '../../management/require-reason.ts';
import { rightsOf } from '../../management/rights.ts';
import { type RequestState, requestStates, type StoredRequest } from '../../model/change-requests.ts';
import { isUser } from '../../snapshot/snapshot.ts';
import { bodyJson } from '../body.ts';
import { comparedFor } from '../compared-for.ts';
import { type RouteContext, requireIdentity } from '../context.ts';
import { answerTask, runTask } from './answer-operation.ts';
import { lookedAt } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import type { PathRight } from './path-rights.ts';
import { answerView, changeContextOf, flag, pageRequestOf, queryOf } from './request.ts';
import { approvalSchema, rejectionSchema, roleRequestSchema } from './request-bodies.ts';
import type { ManagementRoutes } from './routes.ts';

const untold: PathRight = { kind: 'untold', why: 'the right follows from the request and who made it' };

/** Requests that are read at once, and how often for one page: it may hold fewer items than exist, and none, before the last one. */
const batch = 200;
const maxLooks = 10;

/** Routes for change requests: of a role for a time, and of changes that wait for approvals. */
export function mountRequestRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const path = `${deps.basePath}/requests`;
  const one = `${path}/:id`;
  routes.get(path, untold, async (ctx) => await listRequests(deps, ctx));
  routes.post(path, untold, async (ctx) => {
    queryOf(ctx, []);
    const { role, seconds, reason } = parseBody(roleRequestSchema, bodyJson(ctx));
    const content = { kind: 'role', ...roleOf(role), seconds } as const;
    const by = changeContextOf(ctx, parseReason(reason));
    const requestMs = deps.requests.expirySeconds * 1000;
    answerTask(deps, ctx, await runTask(deps, ctx, by, { kind: 'ask', mode: 'request', content, requestMs }));
  });
  routes.get(one, untold, async (ctx) => {
    const query = queryOf(ctx, ['effect', 'files']);
    const files = flag(query, 'files');
    const task = {
      kind: 'see',
      id: idOf(ctx),
      files,
      withEffect: !query.has('effect') || flag(query, 'effect'),
    } as const;
    answerTask(deps, ctx, { ...(await runTask(deps, ctx, changeContextOf(ctx), task)) });
  });
  routes.post(`${one}/approval`, untold, async (ctx) => {
    queryOf(ctx, []);
    const decision = parseBody(approvalSchema, bodyJson(ctx));
    answerTask(
      deps,
      ctx,
      await runTask(deps, ctx, changeContextOf(ctx), { kind: 'approve', id: idOf(ctx), ...decision }),
    );
  });
  routes.post(`${one}/rejection`, untold, async (ctx) => {
    queryOf(ctx, []);
    const { comment } = parseBody(rejectionSchema, bodyJson(ctx));
    const request = await rejectRequest(deps, idOf(ctx), closingOf(ctx), parseReason(comment));
    await answerView(ctx, requestView({ request }, { now: deps.clock.now() }));
  });
  routes.delete(one, untold, async (ctx) => {
    queryOf(ctx, []);
    await withdrawRequest(deps, idOf(ctx), closingOf(ctx));
    ctx.status = 204;
  });
}

/** `domain:role.name`. Throws `InvalidNameError`. */
function roleOf(text: string) {
  const [domain = '', name = ''] = text.split(':role.', 2);
  return { domain: parseDomainName(domain, 'role'), role: parseRoleName(name, 'role') };
}

function closingOf(ctx: RouteContext) {
  return { ...changeContextOf(ctx), compared: comparedFor(ctx) };
}

function idOf(ctx: RouteContext): number {
  const text = String(ctx.params['id']);
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidRequestError('the number of a request is an integer');
}

/** Requests that the caller may look at, newest first. */
async function listRequests(deps: ManagementRouteDeps, ctx: RouteContext): Promise<void> {
  const query = queryOf(ctx, ['state', 'domain', 'author', 'awaiting', 'limit', 'cursor']);
  const [now, { name: caller }] = [deps.clock.now(), requireIdentity(ctx)];
  const rights = rightsOf(deps.snapshot(), caller, now, comparedFor(ctx));
  const awaiting = awaitingOf(query);
  const [state, domain, author] = [stateOf(query), query.get('domain'), query.get('author')];
  const filter = {
    now,
    ...(state !== undefined && { state }),
    ...(domain !== undefined && { domain: parseDomainName(domain, 'domain') }),
    ...(author !== undefined && { author }),
  };
  const fits = (request: StoredRequest) => (awaiting ? awaits(request, rights, now) : maySee(rights, request));
  const { cursor, limit, list } = pageRequestOf(ctx, query);
  let before = cursor === undefined ? undefined : Number(readCursor(cursor, list, deps.pagingSecret));
  const found: StoredRequest[] = [];
  for (let looks = 0; looks < maxLooks && found.length < limit; looks += 1) {
    const place = before !== undefined && { before };
    const rows = await deps.store.view((reader) => reader.requests({ ...filter, ...place, limit: batch }));
    lookedAt(ctx, 'row', rows.length);
    const fitting = rows.filter(fits).slice(0, limit - found.length);
    found.push(...fitting);
    before = found.length === limit ? fitting.at(-1)?.id : rows.at(-1)?.id;
    if (rows.length < batch && found.length < limit) before = undefined;
    if (before === undefined) break;
  }
  const items = found.map((request) => requestView({ request }, { now, isBrief: true }));
  const more = before !== undefined && { next: makeCursor(String(before), list, deps.pagingSecret) };
  await answerView(ctx, { items, ...more });
}

/** True if the caller could decide about the request, or review it, as far as its rights go. */
function awaits(request: StoredRequest, rights: ReturnType<typeof rightsOf>, now: number): boolean {
  const { state, author, approvals } = request;
  const isWaiting = state === 'unreviewed' || (state === 'open' && !isExpired(request, now));
  const { caller } = rights;
  const hasApproved = approvals.some(({ by }) => by === caller);
  return isWaiting && isUser(caller) && author !== caller && !hasApproved && mayDecide(rights, request);
}

function stateOf(query: ReadonlyMap<string, string>): RequestState | undefined {
  const state = query.get('state');
  const known = requestStates.find((one) => one === state);
  if (state === undefined || known !== undefined) return known;
  throw new InvalidRequestError(`state must be one of ${requestStates.join(', ')}`);
}

function awaitingOf(query: ReadonlyMap<string, string>): boolean {
  const who = query.get('awaiting');
  if (who === undefined || who === 'me') return who === 'me';
  throw new InvalidRequestError('awaiting must be `me`');
}
