import {
  deleteList,
  deleteMember,
  type MemberList,
  parseMemberList,
  putList,
  putMember,
  requireList,
} from '../../management/edits/edit-member-lists.ts';
import { memberShape } from '../../management/export-domain.ts';
import { readPage } from '../../management/paging.ts';
import type { MemberRecord } from '../../model/records.ts';
import { bodyJson } from '../body.ts';
import type { RouteContext } from '../context.ts';
import { lookedAt } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { manages, objectOf, views } from './path-rights.ts';
import {
  answerChange,
  answerObject,
  answerPage,
  answerView,
  domainOf,
  pageRequestOf,
  queryOf,
  viewed,
} from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Roles with their members, or groups with theirs: `…/roles/{name}/members/{member}`. */
export function mountMemberListRoutes(
  routes: ManagementRoutes,
  deps: ManagementRouteDeps,
  kind: MemberList['kind'],
): void {
  const all = `${deps.basePath}/domains/:domainName/${kind}s`;
  const one = `${all}/:name`;
  const member = `${one}/members/:member`;
  const pathOf = (ctx: RouteContext) => parseMemberList(kind, domainOf(ctx), ctx.params['name']);
  const memberOf = (ctx: RouteContext) => ctx.params['member'] ?? '';
  const [view, manage, members] = [
    views(objectOf[kind]),
    manages('manage_domain', objectOf[kind]),
    manages('manage_members', objectOf[kind]),
  ];
  routes.get(all, views(objectOf.domain), async (ctx) => {
    const names = await viewed(deps, ctx, (reader, { name }) => reader.listNames(name, kind));
    await answerPage(deps, ctx, names, (name) => name);
  });
  routes.get(one, view, (ctx) => answerObject(deps, ctx, deleteList(pathOf(ctx))));
  routes.put(one, manage, (ctx) => answerChange(deps, ctx, putList(pathOf(ctx), bodyJson(ctx))));
  routes.delete(one, manage, (ctx) => answerChange(deps, ctx, deleteList(pathOf(ctx))));
  routes.get(`${one}/members`, view, async (ctx) => {
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
  routes.get(member, view, (ctx) => answerObject(deps, ctx, deleteMember(pathOf(ctx), memberOf(ctx))));
  routes.put(member, members, (ctx) => answerChange(deps, ctx, putMember(pathOf(ctx), memberOf(ctx), bodyJson(ctx))));
  routes.delete(member, members, (ctx) => answerChange(deps, ctx, deleteMember(pathOf(ctx), memberOf(ctx))));
}

function shown(record: MemberRecord): { readonly name: string } {
  const shape = memberShape(record);
  return typeof shape === 'string' ? { name: shape } : shape;
}
