import type Router from '@koa/router';
import type { Middleware } from 'koa';
import { NotFoundError } from '../../errors.ts';
import {
  deleteList,
  deleteMember,
  listView,
  type MemberList,
  membersOf,
  parseMemberList,
  putList,
  putMember,
} from '../../management/edits/member-lists.ts';
import { memberShape } from '../../management/export-domain.ts';
import { bodyJson } from '../body.ts';
import type { RequestState, RouteContext } from '../context.ts';
import type { ManagementRouteDeps } from './deps.ts';
import { answerChange, answerPage, answerView, domainOf, viewedDomain } from './request.ts';

/** Roles with their members, or groups with theirs: `…/roles/{name}/members/{member}`. */
export function mountMemberListRoutes(
  router: Router<RequestState>,
  deps: ManagementRouteDeps,
  body: Middleware<RequestState>,
  kind: MemberList['kind'],
): void {
  const all = `${deps.basePath}/domains/:domainName/${kind}s`;
  const one = `${all}/:name`;
  const member = `${one}/members/:member`;
  const pathOf = (ctx: RouteContext) => parseMemberList(kind, domainOf(ctx), ctx.params['name']);
  const memberOf = (ctx: RouteContext) => ctx.params['member'] ?? '';
  router.get(all, async (ctx) => {
    const domain = await viewedDomain(deps, ctx);
    const names = (kind === 'role' ? domain.roles : domain.groups).map(({ name }) => name);
    answerPage(deps, ctx, names, (name) => name);
  });
  router.get(one, async (ctx) => {
    const path = pathOf(ctx);
    const view = listView(await viewedDomain(deps, ctx, `${kind}.${path.name}`), path);
    if (view === undefined) throw new NotFoundError(`there is no such ${kind}`);
    answerView(ctx, view);
  });
  router.put(one, body, (ctx) => answerChange(deps, ctx, putList(pathOf(ctx), bodyJson(ctx))));
  router.delete(one, (ctx) => answerChange(deps, ctx, deleteList(pathOf(ctx))));
  router.get(`${one}/members`, async (ctx) => {
    const path = pathOf(ctx);
    const members = membersOf(await viewedDomain(deps, ctx, `${kind}.${path.name}`), path);
    const shown = members.map((record) => ({ name: record.name, ...objectShape(memberShape(record)) }));
    answerPage(deps, ctx, shown, ({ name }) => name);
  });
  router.put(member, body, (ctx) => answerChange(deps, ctx, putMember(pathOf(ctx), memberOf(ctx), bodyJson(ctx))));
  router.delete(member, (ctx) => answerChange(deps, ctx, deleteMember(pathOf(ctx), memberOf(ctx))));
}

function objectShape(shape: ReturnType<typeof memberShape>): object {
  return typeof shape === 'string' ? {} : shape;
}
