import type { ManagementRouteDeps } from './management-deps.ts';
import { objectOf, views } from './path-rights.ts';
import { answerPage, viewed } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Lists of the policies and of the services of a domain, by name. */
export function mountNameLists(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const domain = `${deps.basePath}/domains/:domainName`;
  routes.get(`${domain}/policies`, views(objectOf.domain), async (ctx) => {
    const policies = await viewed(deps, ctx, (reader, { name }) => reader.policies(name));
    await answerPage(deps, ctx, [...new Set(policies.map(({ name }) => name))], (name) => name);
  });
  routes.get(`${domain}/services`, views(objectOf.domain), async (ctx) => {
    const services = await viewed(deps, ctx, (reader, { name }) => reader.services(name));
    await answerPage(
      deps,
      ctx,
      services.map(({ name }) => name),
      (name) => name,
    );
  });
}
