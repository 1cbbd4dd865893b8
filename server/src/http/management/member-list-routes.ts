import { type MemberList, parseMemberList, requireList } from '../../management/edits/edit-member-lists.ts';
import { memberShape } from '../../management/export-domain.ts';
import { readPage } from '../../management/paging.ts';
import type { MemberRecord } from '../../model/records.ts';
import type { RouteContext } from '../context.ts';
import { lookedAt } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { objectOf, views } from './path-rights.ts';
import { answerPage, answerView, domainOf, pageRequestOf, queryOf, viewed } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

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

function shown(record: MemberRecord): { readonly name: string } {
  const shape = memberShape(record);
  return typeof shape === 'string' ? { name: shape } : shape;
}
