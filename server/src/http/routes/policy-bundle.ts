import type { RouterMiddleware } from '@koa/router';
import { formatHttpDate } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { matchesEntityTag } from '../../bundles/entity-tags.ts';
import type { BundlePublisher, PublishedBundle } from '../../bundles/publish-bundle.ts';
import { parsePolicyVersions } from '../../bundles/select-policies.ts';
import { ConflictError, InvalidRequestError } from '../../errors.ts';
import type { ProfileRules } from '../../profile.ts';
import { existingDomain } from '../../snapshot/existing-domain.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { bodyJson } from '../body.ts';
import { answerJson, type RequestState, type RouteContext, requirePrincipal } from '../context.ts';
import { answerUnchanged } from '../plain-answer.ts';

export interface PolicyBundleDeps {
  readonly snapshot: () => Snapshot;
  readonly publisher: BundlePublisher;
  readonly profile: Pick<ProfileRules, 'bundleSignature' | 'bundleConditionsIgnored' | 'bundleTag'>;
  /** Maximum cache lifetime of an answer to `GET`, in seconds. */
  readonly maxAgeSeconds: number;
}

/** Body of the request. */
export const requestSchema = z.object({
  policyVersions: z.record(z.string(), z.string()).nullish(),
  signatureP1363Format: z.boolean().nullish(),
});

/** `GET /domain/{domainName}/policy/signed`: the domain's bundle in the form that caches can hold (docs/reference/policy-bundles.md#forms). */
export function getPolicyBundleRoute(deps: PolicyBundleDeps): RouterMiddleware<RequestState> {
  const answer = { ...storedAnswer, cacheControl: `max-age=${deps.maxAgeSeconds}` };
  return (ctx) => {
    requirePrincipal(ctx);
    const name = parseDomainName(ctx.params['domainName'], 'domainName');
    const bundle = deps.publisher.publish(existingDomain(deps.snapshot(), name), 'rfc7515');
    return answerBundle(ctx, bundle, answer);
  };
}

/** `POST /domain/{domainName}/policy/signed`: the same with versions and a form of signature of the caller's choice. */
export function postPolicyBundleRoute(deps: PolicyBundleDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    requirePrincipal(ctx);
    const name = parseDomainName(ctx.params['domainName'], 'domainName');
    const request = requestSchema.safeParse(bodyJson(ctx));
    if (!request.success) throw new InvalidRequestError(`\`${firstField(request.error)}\` is not valid`);
    const { policyVersions, signatureP1363Format } = request.data;
    const versions = parsePolicyVersions(name, policyVersions ?? {});
    const form =
      typeof signatureP1363Format === 'boolean'
        ? signatureP1363Format
          ? 'p1363'
          : 'der'
        : deps.profile.bundleSignature;
    const domain = existingDomain(deps.snapshot(), name);
    const bundle = deps.publisher.publish(domain, form, versions);
    const isShared = versions.size === 0;
    const tagOf = (isShared ? tags : chosenTags)[deps.profile.bundleTag];
    const conditionsIgnored = deps.profile.bundleConditionsIgnored;
    await answerBundle(ctx, bundle, { tagOf, conditionsIgnored, cacheControl: 'no-store', isShared });
  };
}

function firstField(error: z.ZodError): string {
  const field = error.issues[0]?.path[0];
  return field === undefined ? 'SignedPolicyRequest' : String(field);
}

/** Tag of a bundle in the caller's form; undefined: none. */
type TagOf = (bundle: Pick<PublishedBundle, 'entityTag' | 'formerTag' | 'modifiedTag'>) => string | undefined;

const noTag: TagOf = () => undefined;

const tags: Readonly<Record<ProfileRules['bundleTag'], TagOf>> = {
  edition: ({ entityTag }) => entityTag,
  modified: ({ modifiedTag }) => modifiedTag,
};

/** A choice of versions is not what the time of the last change stands for. */
const chosenTags: typeof tags = { ...tags, modified: noTag };

/** Form of a bundle's answer. */
interface BundleAnswer {
  readonly tagOf: TagOf;
  /** Tag of an equivalent bundle that the caller may have. */
  readonly formerly?: TagOf;
  readonly conditionsIgnored: boolean;
  readonly cacheControl: string;
  /** True if other callers get the same text. */
  readonly isShared: boolean;
}

/** Answer in the form that caches hold. A client with the same payload in the form of 0.1 keeps it: an upgrade has no host fetch anything. */
const storedAnswer: Omit<BundleAnswer, 'cacheControl'> = {
  tagOf: tags.edition,
  formerly: ({ formerTag }) => formerTag,
  conditionsIgnored: false,
  isShared: true,
};

function answerBundle(ctx: RouteContext, bundle: PublishedBundle, answer: BundleAnswer): undefined | Promise<void> {
  if (answer.conditionsIgnored) refuseConditions(bundle);
  const known = knownTag(ctx.req.headers['if-none-match'], bundle, answer);
  if (known === undefined) return answerWhole(ctx, bundle, answer);
  answerUnchanged(ctx, known, answer.cacheControl);
  return undefined;
}

/** Tag by which the caller has the bundle; undefined if it does not. */
function knownTag(
  header: string | undefined,
  bundle: PublishedBundle,
  { tagOf, formerly = noTag }: BundleAnswer,
): string | undefined {
  if (header === undefined) return undefined;
  const tag = tagOf(bundle);
  if (tag !== undefined && matchesEntityTag(header, tag)) return tag;
  const former = formerly(bundle);
  if (former !== undefined && matchesEntityTag(header, former)) return former;
  return tag === bundle.entityTag ? bundle.laterIssue(header) : undefined;
}

async function answerWhole(
  ctx: RouteContext,
  bundle: PublishedBundle,
  { tagOf, conditionsIgnored, cacheControl, isShared }: BundleAnswer,
): Promise<void> {
  ctx.state.isSharedAnswer = isShared;
  ctx.set('cache-control', cacheControl);
  const issued = await bundle.issue();
  // The domain may have changed since.
  if (conditionsIgnored) refuseConditions(issued);
  const tag = tagOf(issued);
  if (tag !== undefined) ctx.set('etag', tag);
  ctx.set('last-modified', formatHttpDate(issued.issued));
  answerJson(ctx, issued.json);
}

/** Refuses conditions for a reader that ignores them: an assertion would always apply. */
function refuseConditions(bundle: Pick<PublishedBundle, 'hasConditions'>): void {
  if (!bundle.hasConditions()) return;
  throw new ConflictError('an assertion of the domain has conditions, which readers of this form ignore');
}
