import { InvalidRequestError } from '../../errors.ts';
import { listFields, type MemberList, parseMemberList, requireList } from '../../management/edits/edit-member-lists.ts';
import { memberShape } from '../../management/export-domain.ts';
import { pageOf, readPage } from '../../management/paging.ts';
import type { MemberRecord } from '../../model/records.ts';
import type { StoreReader } from '../../model/store.ts';
import type { RouteContext } from '../context.ts';
import { lookedAt, viewerFor } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { objectOf, views } from './path-rights.ts';
import { answerPage, answerView, domainOf, pageRequestOf, queryOf, viewed } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Roles or groups of one answer with details, and members of each. */
const maxDetailed = 100;
const shownMembers = 10;

/** Lists of roles and of their members, or of groups and of theirs: `…/roles/{name}/members`. */
export function mountMemberListRoutes(
  routes: ManagementRoutes,
  deps: ManagementRouteDeps,
  kind: MemberList['kind'],
): void {
  const all = `${deps.basePath}/domains/:domainName/${kind}s`;
  const one = `${all}/:name`;
  const pathOf = (ctx: RouteContext) => parseMemberList(kind, domainOf(ctx), ctx.params['name']);
  routes.get(all, views(objectOf.domain), async (ctx) => {
    const names = await viewed(deps, ctx, (reader, { name }) => reader.listNames(name, kind));
    await answerPage(deps, ctx, names, (name) => name);
  });
  routes.get(`${deps.basePath}/domains/:domainName/${kind}-details`, views(objectOf.domain), async (ctx) => {
    const query = queryOf(ctx, ['name', 'limit', 'cursor']);
    const request = pageRequestOf(ctx, query);
    const only = query.get('name');
    if (request.limit > maxDetailed) throw new InvalidRequestError(`limit must be from 1 to ${maxDetailed}`);
    const page = await viewed(deps, ctx, async (reader, { name: domain }) => {
      const names: readonly string[] = await reader.listNames(domain, kind);
      const wanted = only === undefined ? names : names.filter((name) => name === only);
      const { items, ...more } = pageOf(wanted, (name) => name, request, deps.pagingSecret);
      const lists = items.map((name) => detailsOf(deps, ctx, reader, parseMemberList(kind, domain, name)));
      return { items: await Promise.all(lists), ...more };
    });
    await answerView(ctx, page);
  });
  routes.get(`${one}/members`, views(objectOf[kind]), async (ctx) => {
    const path = pathOf(ctx);
    await viewed(deps, ctx, (reader) => requireList(reader, path), `${kind}.${path.name}`);
    const read = async (after: string, limit: number) => {
      const members = await deps.store.view((reader) => reader.memberPage(path, after, limit));
      lookedAt(ctx, 'row', members.length);
      return members.map(shown);
    };
    const request = pageRequestOf(ctx, queryOf(ctx, ['limit', 'cursor']));
    await answerView(ctx, await readPage(read, ({ name }) => name, request, deps.pagingSecret));
  });
}

/** Fields of a role or group and its first members; the name alone for a caller who may not look at it, and of one that was just deleted. */
async function detailsOf(deps: ManagementRouteDeps, ctx: RouteContext, reader: StoreReader, list: MemberList) {
  const { domain, kind, name } = list;
  const found = viewerFor(deps, ctx).sees(domain, `${kind}.${name}`) ? await reader.list(list) : undefined;
  if (found === undefined) return { name };
  const members = await reader.memberPage(list, '', shownMembers + 1);
  return {
    ...listFields(list, found),
    members: members.slice(0, shownMembers).map(memberShape),
    ...(members.length > shownMembers && { more: true }),
  };
}

function shown(record: MemberRecord): { readonly name: string } {
  const shape = memberShape(record);
  return typeof shape === 'string' ? { name: shape } : shape;
}
