import type { RouterMiddleware } from '@koa/router';
import { parseDomainName } from '@signet/policy-engine/names';
import type { BundlePublisher } from '../../bundles/publish-bundle.ts';
import { existingDomain } from '../../snapshot/existing-domain.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { answerJson, type RequestState, requirePrincipal } from '../context.ts';

interface SignedPolicyDataDeps {
  readonly snapshot: () => Snapshot;
  readonly publisher: Pick<BundlePublisher, 'publishOld'>;
}

/**
 * `GET /domain/{domainName}/signed_policy_data`: the older signed form (docs/reference/policy-bundles.md#forms). Its readers take the
 * entity tag for the time of the domain's last change and send it back as one exact text; near its end they ask without one.
 */
export function signedPolicyDataRoute(deps: SignedPolicyDataDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    requirePrincipal(ctx);
    const name = parseDomainName(ctx.params['domainName'], 'domainName');
    const bundle = deps.publisher.publishOld(existingDomain(deps.snapshot(), name));
    ctx.set('ETag', bundle.entityTag);
    if (ctx.req.headers['if-none-match'] === bundle.entityTag) {
      ctx.status = 304;
      return;
    }
    const { entityTag, json } = await bundle.issue();
    ctx.set('ETag', entityTag);
    answerJson(ctx, json);
  };
}
