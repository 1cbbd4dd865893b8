import type { RouterMiddleware } from '@koa/router';
import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { issuedAt } from '../../bundles/publish-bundle.ts';
import { selectPolicies } from '../../bundles/select-policies.ts';
import { signOldBundle } from '../../bundles/signed-policy-data.ts';
import type { SigningKeys } from '../../keys/signing-keys.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { answerJson, type RequestState, requirePrincipal } from '../context.ts';
import { existingDomain } from './access.ts';

export interface SignedPolicyDataDeps {
  readonly snapshot: () => Snapshot;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
}

/**
 * `GET /domain/{domainName}/signed_policy_data`: the older signed form (decision 28). Its readers take the entity tag for the time of
 * the domain's last change and send it back as one exact text; near its end they ask without one.
 */
export function signedPolicyDataRoute(deps: SignedPolicyDataDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const name = parseDomainName(ctx.params['domainName'], 'domainName');
    const { modified, policies } = existingDomain(deps.snapshot(), name);
    const tag = `"${formatTimestamp(modified)}"`;
    ctx.set('ETag', tag);
    if (ctx.req.headers['if-none-match'] === tag) {
      ctx.status = 304;
      return;
    }
    const lifetimeMs = deps.lifetimeSeconds * 1000;
    const expires = issuedAt(deps.clock.now(), modified, lifetimeMs) + lifetimeMs;
    const active = selectPolicies(policies, new Map());
    const bundle = signOldBundle({ domain: name, modified, expires, policies: active }, deps.keys.key('bundle'));
    answerJson(ctx, JSON.stringify(bundle));
  };
}
