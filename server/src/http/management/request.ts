import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import { matchesEntityTag } from '../../bundles/entity-tags.ts';
import { ForbiddenError, InvalidRequestError, NotFoundError, UnknownDomainError } from '../../errors.ts';
import type { ChangeOutcome } from '../../management/change-domain.ts';
import { type ChangeRequest, type DomainEdit, entityTagInSteps } from '../../management/judge-edit.ts';
import { type PageRequest, pageOf } from '../../management/paging.ts';
import type { Mode } from '../../management/requests/ask-for.ts';
import { parseReason } from '../../management/require-reason.ts';
import type { DomainAttributes } from '../../model/records.ts';
import type { StoreReader } from '../../model/store.ts';
import { jsonInSteps } from '../../steps/json-steps.ts';
import { comparedFor } from '../compared-for.ts';
import { answerJson, type RouteContext, requireIdentity } from '../context.ts';
import { parseParameters } from '../parameters.ts';
import { lookedAt, viewerFor } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';

const maxWarnings = 10;
/** Clients take 16 KiB of headers, and less. */
const maxWarningLength = 4096;
const defaultLimit = 100;
const maxLimit = 1000;

/** The domain that the path names. Throws `InvalidNameError`. */
export function domainOf(ctx: RouteContext): DomainName {
  return parseDomainName(ctx.params['domainName'], 'domainName');
}

/** The parameters of the query; those that are not known are refused: a slip in `dryRun` would change things. */
export function queryOf(ctx: RouteContext, allowed: readonly string[]): ReadonlyMap<string, string> {
  const query = parseParameters(ctx.querystring, 'query');
  const unknown = [...query.keys()].find((name) => !allowed.includes(name));
  if (unknown === undefined) return query;
  throw new InvalidRequestError(`the query has a parameter that is not known here; allowed: ${allowed.join(', ')}`);
}

/** Parameters in the query of every change. */
export const changeParameters = [
  'dryRun',
  'reason',
  'allowWildcard',
  'removeMemberships',
  'reuseName',
  'request',
  'breakGlass',
] as const;

/** A change as a request of the API asks for it. */
interface AskedChange extends ChangeRequest {
  /** Absent: it is made if it needs no approval. */
  readonly mode?: Mode;
}

/** How a change that needs approvals is asked for. Throws `InvalidRequestError`. */
export function modeOf(query: ReadonlyMap<string, string>): Mode | undefined {
  const asks = (['request', 'breakGlass', 'dryRun'] as const).filter((name) => flag(query, name));
  if (asks.length > 1) throw new InvalidRequestError(`${asks.join(' and ')} exclude each other`);
  if (asks[0] === 'request') return 'request';
  return asks[0] === 'breakGlass' ? 'break-glass' : undefined;
}

/**
 * Context of a change from the request: caller, and `dryRun`, `reason`, `allowWildcard`, `removeMemberships` and `reuseName` of the query,
 * `If-Match` and `If-None-Match`.
 */
export function changeRequestOf(ctx: RouteContext): AskedChange {
  const query = queryOf(ctx, changeParameters);
  const mode = modeOf(query);
  const reason = query.get('reason');
  const ifMatch = tagsOf(ctx);
  const ifNoneMatch = ctx.get('If-None-Match');
  if (ifNoneMatch !== '' && ifNoneMatch !== '*') throw new InvalidRequestError('If-None-Match takes only `*` here');
  return {
    ...changeContextOf(ctx, reason === undefined ? undefined : parseReason(reason)),
    ...(ifMatch !== undefined && { ifMatch }),
    signal: signalOf(ctx),
    onRead: (rows) => lookedAt(ctx, 'row', rows),
    compared: comparedFor(ctx),
    mustBeNew: ifNoneMatch === '*',
    dryRun: flag(query, 'dryRun'),
    ...(mode !== undefined && { mode }),
    allowWildcard: flag(query, 'allowWildcard'),
    removeMemberships: flag(query, 'removeMemberships'),
    reuseName: flag(query, 'reuseName'),
  };
}

/** The caller of a change, its certificate, and what the audit log says of both. */
export function changeContextOf(
  ctx: RouteContext,
  reason?: string,
): Pick<ChangeRequest, 'caller' | 'certificate' | 'context'> {
  const caller = requireIdentity(ctx).name;
  const { certificate, requestId } = ctx.state;
  const serial = certificate && { certificateSerial: certificate.serial };
  return {
    caller,
    context: { actor: caller, requestId, ...(reason !== undefined && { reason }), ...serial },
    ...(certificate !== undefined && { certificate }),
  };
}

/** Aborted when the connection closes before the answer is sent. */
export function signalOf({ res }: RouteContext): AbortSignal {
  const closed = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) closed.abort();
  });
  return closed.signal;
}

/** The tags of `If-Match`, which are compared as they are: a weak one matches nothing (RFC 9110 §13.1.1). */
function tagsOf(ctx: RouteContext): string[] | undefined {
  const header = ctx.req.headers['if-match'];
  if (header === undefined) return undefined;
  const tags = header.split(',').map((tag) => tag.trim());
  if (tags.every((tag) => tag === '*' || /^(?:W\/)?"[\x21\x23-\x7e]*"$/.test(tag))) return tags;
  throw new InvalidRequestError('If-Match must be `*` or entity tags in double quotes');
}

export function flag(query: ReadonlyMap<string, string>, name: string): boolean {
  const value = query.get(name) ?? 'false';
  if (value !== 'true' && value !== 'false') throw new InvalidRequestError(`${name} must be \`true\` or \`false\``);
  return value === 'true';
}

/** Answers a change: 201 for something new, 200, 204 where nothing is left, 200 with the preview of a dry run. */
export async function answerOutcome(ctx: RouteContext, outcome: ChangeOutcome): Promise<void> {
  if (outcome.kind === 'dry-run') {
    answerJson(ctx, JSON.stringify(outcome.preview));
    return;
  }
  setWarnings(ctx, outcome.warnings);
  if (outcome.view === undefined) {
    ctx.status = 204;
  } else {
    ctx.status = outcome.created ? 201 : 200;
    await answerView(ctx, outcome.view);
  }
}

export function setWarnings(ctx: RouteContext, warnings: readonly string[]): void {
  // A warning names members, which hold no characters that a header does not.
  if (warnings.length > 0) ctx.set('Signet-Warning', warningOf(warnings));
}

function warningOf(warnings: readonly string[]): string {
  const text = warnings.slice(0, maxWarnings).join('; ');
  return text.length > maxWarningLength ? `${text.slice(0, maxWarningLength - 4)} ...` : text;
}

/** Answers an object with its entity tag; 304 when the caller has it. */
export async function answerView(ctx: RouteContext, view: unknown): Promise<void> {
  // A view may be large: it is made JSON once, and in slices.
  const json = await runInSlices(jsonInSteps(view));
  const tag = await runInSlices(entityTagInSteps(json));
  ctx.set('ETag', tag);
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
  if (isRead && matchesEntityTag(ctx.req.headers['if-none-match'], tag)) ctx.status = 304;
  else answerJson(ctx, json);
}

/**
 * Result of `read` on the domain of the path, for a caller who may look at all of it, or at `object`. Throws `UnknownDomainError`,
 * `ForbiddenError`.
 */
export async function viewed<Result>(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  read: (reader: StoreReader, domain: DomainAttributes) => Promise<Result>,
  object = 'domain',
): Promise<Result> {
  const name = domainOf(ctx);
  return await deps.store.view(async (reader) => {
    const stored = await reader.attributes(name);
    if (stored === undefined) throw new UnknownDomainError(name);
    requireView(deps, ctx, name, object);
    const result = await read(reader, stored);
    lookedAt(ctx, 'row', reader.rowsRead());
    return result;
  });
}

/** The domain of the path without what it consists of. */
export function viewedDomain(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  object = 'domain',
): Promise<DomainAttributes> {
  return viewed(deps, ctx, async (_, stored) => stored, object);
}

/** Answers the object of an edit, as it is. Throws `NotFoundError` where there is none. */
export async function answerObject(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  { object, read }: Pick<DomainEdit, 'object' | 'read'>,
): Promise<void> {
  const { view } = await viewed(deps, ctx, read, object);
  if (view === undefined) throw new NotFoundError('there is no such object');
  await answerView(ctx, view);
}

function requireView(deps: ManagementRouteDeps, ctx: RouteContext, domain: DomainName, object: string): void {
  if (viewerFor(deps, ctx).sees(domain, object)) return;
  throw new ForbiddenError(`caller may not look at \`${domain}:${object}\``);
}

/** Requested page of a list; its cursors are valid for this caller, path and filters alone. `query` is the result of `queryOf`. */
export function pageRequestOf(ctx: RouteContext, query: ReadonlyMap<string, string>): PageRequest {
  const { limit: _, cursor: __, ...filters } = Object.fromEntries(query);
  const list = JSON.stringify([requireIdentity(ctx).name, ctx.path, filters]);
  const text = query.get('limit') ?? String(defaultLimit);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit) throw new InvalidRequestError(`limit must be from 1 to ${maxLimit}`);
  const cursor = query.get('cursor');
  return { list, limit, ...(cursor !== undefined && { cursor }) };
}

/** Answers one page of a sorted list: `{ items, next? }`. */
export async function answerPage<Item>(
  deps: ManagementRouteDeps,
  ctx: RouteContext,
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Promise<void> {
  const query = queryOf(ctx, ['limit', 'cursor']);
  await answerView(ctx, pageOf(items, keyOf, pageRequestOf(ctx, query), deps.pagingSecret));
}
