import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName } from '@signet/policy-engine/names';
import { NotFoundError } from '../../errors.ts';
import { changeDomain } from '../../management/change-domain.ts';
import { creation } from '../../management/create-domain.ts';
import { accountView, domainView, quotasView, readNewDomain } from '../../management/edits/edit-domains.ts';
import { readPage } from '../../management/paging.ts';
import type { Steps } from '../../steps/steps.ts';
import { bodyJson } from '../body.ts';
import { lookedAt, viewerFor } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { objectOf, type PathRight, views } from './path-rights.ts';
import { answerOutcome, answerView, changeRequestOf, pageRequestOf, queryOf, viewedDomain } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Domains, what they say of themselves, their limits and cloud accounts. */
export function mountDomainRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const list = `${deps.basePath}/domains`;
  const one = `${list}/:domainName`;
  routes.get(list, { kind: 'untold', why: 'the answer holds what the caller may look at' }, async (ctx) => {
    const { sees } = viewerFor(deps, ctx);
    const names = await deps.store.domainNames();
    lookedAt(ctx, 'row', names.length);
    const isVisible = (name: DomainName) => sees(name, 'domain');
    const read = (after: string, limit: number) =>
      runInSlices(firstOf(names, limit, (name) => name > after && isVisible(name)));
    const request = pageRequestOf(ctx, queryOf(ctx, ['limit', 'cursor']));
    await answerView(ctx, await readPage(read, (name) => name, request, deps.pagingSecret));
  });
  const create: PathRight = { kind: 'untold', why: 'the body names the domain', right: 'manage_domain' };
  routes.post(list, create, async (ctx) => {
    const content = readNewDomain(bodyJson(ctx));
    const outcome = await changeDomain(deps, changeRequestOf(ctx), creation(content));
    if (outcome.kind === 'done') ctx.set('Location', `${list}/${content.name}`);
    await answerOutcome(ctx, outcome);
  });
  const view = views(objectOf.domain);
  routes.get(one, view, async (ctx) => answerView(ctx, domainView(await viewedDomain(deps, ctx))));
  routes.get(`${one}/limits`, view, async (ctx) => answerView(ctx, (await viewedDomain(deps, ctx)).limits));
  routes.get(
    `${one}/quotas`,
    view,
    async (ctx) => await answerView(ctx, quotasView(await viewedDomain(deps, ctx), deps.quotas)),
  );
  routes.get(`${one}/accounts/aws`, view, async (ctx) => {
    const account = accountView(await viewedDomain(deps, ctx));
    if (account === undefined) throw new NotFoundError('the domain has no such account');
    await answerView(ctx, account);
  });
}

/** The first items that fit, at most `limit`. */
function* firstOf<Item>(items: Iterable<Item>, limit: number, fits: (item: Item) => boolean): Steps<Item[]> {
  const found: Item[] = [];
  for (const item of items) {
    if (fits(item)) found.push(item);
    if (found.length === limit) break;
    yield;
  }
  return found;
}
