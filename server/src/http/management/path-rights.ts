import { parseGroupName, parsePolicyName, parseRoleName, parseServiceName } from '@signet/policy-engine/names';
import { ForbiddenError } from '../../errors.ts';
import type { ManagementDeps } from '../../management/change-domain.ts';
import { isOperator, lacksRight, mayOperateSome, type Right, rightsOf, systemDomain } from '../../management/rights.ts';
import { comparedFor } from '../compared-for.ts';
import { type Middleware, type RouteContext, requireIdentity } from '../context.ts';
import { viewerFor } from './looked-at.ts';
import { domainOf } from './request.ts';

/**
 * Right that an operation needs as far as its path tells (docs/reference/http.md#order-of-checks): a right to change or to look at an object of
 * the domain in the path, the right of an operator, or why the path alone does not tell.
 */
export type PathRight =
  | { readonly kind: 'manage'; readonly right: Right; readonly object: ObjectOf; readonly systemOnly?: boolean }
  | { readonly kind: 'view'; readonly object: ObjectOf }
  | { readonly kind: 'operator'; readonly right: Right }
  /** Unknown by the path; with `right`, a caller who has it on no domain at all is refused all the same. */
  | { readonly kind: 'untold'; readonly why: string; readonly right?: Right };

type ObjectOf = (ctx: RouteContext) => string;
type Deps = Pick<ManagementDeps, 'snapshot' | 'clock' | 'refresh'>;

/** The domain itself, or one of its objects by the name in the path. */
export const objectOf = {
  domain: () => 'domain',
  role: (ctx) => `role.${parseRoleName(ctx.params['name'], 'roleName')}`,
  group: (ctx) => `group.${parseGroupName(ctx.params['name'], 'groupName')}`,
  policy: (ctx) => `policy.${parsePolicyName(ctx.params['name'], 'policyName')}`,
  service: (ctx) => `service.${parseServiceName(ctx.params['name'], 'serviceName')}`,
} as const satisfies Readonly<Record<string, ObjectOf>>;

/** A right to change something of the domain in the path. */
export function manages(right: Right, object: ObjectOf): PathRight {
  return { kind: 'manage', right, object };
}

/** The right to look at something of the domain in the path. */
export function views(object: ObjectOf): PathRight {
  return { kind: 'view', object };
}

/** Refuses who lacks the right that the path names before anything of the body is read. */
export function authorization(deps: Deps, wanted: PathRight): Middleware {
  return async function authorize(ctx, next) {
    const request = ctx as RouteContext;
    try {
      requirePathRight(deps, request, wanted);
    } catch (error) {
      if (!(error instanceof ForbiddenError) || wanted.kind === 'view') throw error;
      // Another server may just have granted the right, as for the check of the change itself.
      await deps.refresh();
      requirePathRight(deps, request, wanted);
    }
    return next();
  };
}

function requirePathRight({ snapshot, clock }: Deps, ctx: RouteContext, wanted: PathRight): void {
  const caller = requireIdentity(ctx).name;
  const [current, now, compared] = [snapshot(), clock.now(), comparedFor(ctx)];
  if (wanted.kind === 'manage') {
    const { right, systemOnly = false } = wanted;
    const query = { right, domain: domainOf(ctx), object: wanted.object(ctx), systemOnly };
    rightsOf(current, caller, now, compared).require(query);
  } else if (wanted.kind === 'view') {
    const [domain, object] = [domainOf(ctx), wanted.object(ctx)];
    if (viewerFor({ snapshot: () => current, clock }, ctx).sees(domain, object)) return;
    throw new ForbiddenError(`\`${caller}\` may not look at \`${domain}:${object}\``);
  } else if (wanted.kind === 'operator') {
    if (isOperator(current, { caller, right: wanted.right, domain: systemDomain }, now)) return;
    throw lacksRight(caller, wanted.right, `\`${systemDomain}\``);
  } else if (wanted.right !== undefined && !mayOperateSome(current, caller, wanted.right, now)) {
    throw lacksRight(caller, wanted.right, 'every domain');
  }
}
