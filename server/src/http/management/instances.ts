import { formatTimestamp } from '@signet/policy-engine/clock';
import { parseServiceName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { makeCursor, readCursor } from '../../management/paging.ts';
import type { InstanceRecord } from '../../model/instance-store.ts';
import type { RouteContext } from '../context.ts';
import { lookedAt } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import type { PathRight } from './path-rights.ts';
import { answerView, pageRequestOf, queryOf, viewedDomain } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** `GET …/domains/{domain}/instances`: instances of the domain's services, for callers who may look at the domain. */
export function mountInstanceRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const needs: PathRight = { kind: 'untold', why: 'the query may name one service, which is less than the domain' };
  routes.get(`${deps.basePath}/domains/:domainName/instances`, needs, (ctx) => answerInstances(deps, ctx));
}

/** Content of a cursor: service, provider and id of the last item. This server signed it. */
const positionSchema = z.tuple([z.string(), z.string(), z.string()]);

async function answerInstances(deps: ManagementRouteDeps, ctx: RouteContext): Promise<void> {
  const query = queryOf(ctx, ['service', 'limit', 'cursor']);
  const text = query.get('service');
  const service = text === undefined ? undefined : parseServiceName(text, 'service');
  const { name: domain } = await viewedDomain(deps, ctx, service === undefined ? 'domain' : `service.${service}`);
  const { limit, cursor, list } = pageRequestOf(ctx, query);
  const after =
    cursor === undefined ? undefined : positionSchema.parse(JSON.parse(readCursor(cursor, list, deps.pagingSecret)));
  const found = await deps.store.instances.list({ domain, service, after, limit: limit + 1 });
  lookedAt(ctx, 'row', found.length);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const next =
    found.length > limit && last !== undefined
      ? makeCursor(JSON.stringify([last.service, last.provider, last.instanceId]), list, deps.pagingSecret)
      : undefined;
  const now = deps.clock.now();
  await answerView(ctx, { items: items.map((item) => shownInstance(item, now)), ...(next !== undefined && { next }) });
}

function shownInstance(record: InstanceRecord, now: number): Record<string, unknown> {
  const {
    service,
    provider,
    instanceId,
    hostname,
    currentSerial: serial,
    registeredAt,
    refreshedAt,
    notAfter,
  } = record;
  const time = (seconds: number) => formatTimestamp(seconds * 1000);
  const state = record.revoked ? 'revoked' : notAfter * 1000 <= now ? 'ended' : 'valid';
  return {
    service,
    provider,
    instanceId,
    ...(hostname !== undefined && { hostname }),
    state,
    serial,
    registered: time(registeredAt),
    refreshed: time(refreshedAt),
    notAfter: time(notAfter),
  };
}
