import type { RouterMiddleware } from '@koa/router';
import type { DomainName } from '@signet/policy-engine/names';
import { matchesEntityTag } from '../../bundles/entity-tags.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { entityMarkOf } from '../cached-answer.ts';
import { answerJson, type RequestState, requireIdentity } from '../context.ts';

/** How many domains an answer names; the first ones by name. */
const maxBundleDomains = 10_000;

interface Answer {
  readonly json: string;
  readonly tag: string;
}

const none: readonly DomainName[] = [];

/**
 * `GET /bundle-domains`: the domains that name the caller as a reader of their bundles (docs/reference/policy-bundles.md#which-domains-a-host-keeps).
 * The snapshot has them by reader; each answer is made once.
 */
export function bundleDomainsRoute(snapshot: () => Snapshot): RouterMiddleware<RequestState> {
  const answers = new WeakMap<readonly DomainName[], Answer>();
  return (ctx) => {
    const { name: reader } = requireIdentity(ctx);
    const named = snapshot().bundleDomains.get(reader) ?? none;
    const answer = (named === none ? undefined : answers.get(named)) ?? answerOf(reader, named);
    if (named !== none) answers.set(named, answer);
    // The answer depends on the caller.
    ctx.set('Cache-Control', 'private, no-cache');
    ctx.set('ETag', answer.tag);
    if (matchesEntityTag(ctx.req.headers['if-none-match'], answer.tag)) ctx.status = 304;
    else answerJson(ctx, answer.json);
  };
}

function answerOf(reader: string, named: readonly DomainName[]): Answer {
  const domains = named.slice(0, maxBundleDomains);
  const json = JSON.stringify({ reader, complete: domains.length === named.length, domains });
  return { json, tag: `"${entityMarkOf(json)}"` };
}
