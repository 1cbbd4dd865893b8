import { runInSlices } from '@signet/policy-engine/internal/slices';
import { conditionKeys, type DecisionContext } from '@signet/policy-engine/policy';
import { granteesInSteps, keyOfGrantee } from '../../access/list-grantees.ts';
import { explainToItself, explainToViewer } from '../../access/visible-access.ts';
import { ForbiddenError } from '../../errors.ts';
import { foldedSnapshotInSteps } from '../../impact/fold.ts';
import { maxThrough } from '../../management/list-access.ts';
import { readPage } from '../../management/paging.ts';
import type { ExplainedRole } from '../../roles/explain-roles.ts';
import { existingDomain } from '../../snapshot/existing-domain.ts';
import { type RouteContext, requireIdentity } from '../context.ts';
import { type AccessDeps, parseQuestion, requireRightToAsk } from '../routes/access-route.ts';
import { askedBy } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { answerView, pageRequestOf, queryOf } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

/** Maximum work of one explanation beyond its decision, in units of `maxWork` of the engine: about 15 ms of the request loop. */
const maxExplanationWork = 1_000_000;

const contextParameters = conditionKeys.map((key) => `context.${key}`);

/**
 * Routes for why a principal may do something, and who may (docs/reference/access-checks.md#why-and-who). Of another principal, they take the
 * right of an access check and the right to look at the domain: an explanation tells more than its decision.
 */
export function mountQuestionRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps, access: AccessDeps): void {
  const why = 'the query names the resource, and the principal that may be the caller';
  routes.get(`${deps.basePath}/explanation`, { kind: 'untold', why }, async (ctx) => {
    const query = queryOf(ctx, ['action', 'resource', 'principal', ...contextParameters]);
    const { domain, principal = requireIdentity(ctx).name, ...question } = questionOf(query);
    const { snapshot, now, viewer, caller, compared } = askedBy(deps, ctx);
    existingDomain(snapshot, domain);
    const asked = { ...question, principal };
    const explaining = { now, compared, reasonsWork: maxExplanationWork };
    if (principal === caller) {
      return await answerView(ctx, await runInSlices(explainToItself(snapshot, asked, viewer, explaining)));
    }
    requireRightToAsk(access, snapshot, ctx, { domain, principal });
    if (!viewer.sees(domain, 'domain')) throw mayNotLook(ctx, `${domain}:domain`);
    await answerView(ctx, await runInSlices(explainToViewer(snapshot, asked, viewer, explaining)));
  });
  routes.get(`${deps.basePath}/grantees`, { kind: 'untold', why: 'the query names the resource' }, async (ctx) => {
    const query = queryOf(ctx, ['action', 'resource', ...contextParameters, 'limit', 'cursor']);
    const { domain, principal: _, ...question } = questionOf(query);
    const { snapshot, now, viewer, looked, compared } = askedBy(deps, ctx);
    existingDomain(snapshot, domain);
    if (!viewer.seesAll(domain)) throw mayNotLook(ctx, `${domain}:*`);
    const folded = await runInSlices(foldedSnapshotInSteps(snapshot, domain, viewer));
    const listing = { ...folded, now, looked, compared };
    const read = async (after: string, limit: number) => {
      const grantees = await runInSlices(granteesInSteps(listing, question, { after, limit }));
      return grantees.map(({ principal, through }) => ({ principal, through: atMost(through) }));
    };
    await answerView(ctx, await readPage(read, keyOfGrantee, pageRequestOf(ctx, query), deps.pagingSecret));
  });
}

/** Throws `InvalidRequestError` and `InvalidNameError`, as an access check does. */
function questionOf(query: ReadonlyMap<string, string>) {
  const { action, resource, domain, principal } = parseQuestion({
    action: query.get('action'),
    resource: query.get('resource'),
    principal: query.get('principal'),
  });
  const context: DecisionContext = Object.fromEntries(
    conditionKeys.flatMap((key) => {
      const value = query.get(`context.${key}`);
      return value === undefined ? [] : [[key, value]];
    }),
  );
  return { action, resource, domain, principal, context };
}

function atMost(through: readonly ExplainedRole[]): readonly ExplainedRole[] {
  return through.slice(0, maxThrough).map((role) => ({ ...role, paths: role.paths.slice(0, maxThrough) }));
}

function mayNotLook(ctx: RouteContext, what: string): ForbiddenError {
  return new ForbiddenError(`\`${requireIdentity(ctx).name}\` may not look at \`${what}\``);
}
