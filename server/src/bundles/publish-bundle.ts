import { createHash } from 'node:crypto';
import {
  type BundleForm,
  buildBundle,
  bundleText,
  issuedSkew,
  maxBundleBytes,
  signBundleInParts,
  withDerSignature,
} from '@signet/policy-engine/bundle';
import { type Clock, formatTimestamp } from '@signet/policy-engine/clock';
import { pauseBetweenSlices } from '@signet/policy-engine/internal/slices';
import { LRUCache } from 'lru-cache';
import { ConflictError } from '../errors.ts';
import type { SigningKey } from '../keys/sign-token.ts';
import type { SigningKeys } from '../keys/signing-keys.ts';
import type { DomainSnapshot, Snapshot } from '../snapshot/snapshot.ts';
import { type Pace, signingTurns } from '../turns/signing-turns.ts';
import { editionId, editionTag, isLaterTag, timesOf } from './edition-name.ts';
import { findTag } from './entity-tags.ts';
import { issuedAt } from './issue-grid.ts';
import { keptBundles } from './kept-bundles.ts';
import { haveConditions, type PolicyVersions, selectPolicies } from './select-policies.ts';
import { signOldBundle } from './signed-policy-data.ts';

interface PublishBundleDeps {
  readonly snapshot: () => Snapshot;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** Runs around each signature. */
  readonly around?: ((sign: () => Promise<SignedTexts>) => Promise<SignedTexts>) | undefined;
  readonly onSigned?: (() => void) | undefined;
  /** Pace of one domain's signatures. Default: one a second. */
  readonly pace?: Pace;
}

/** A bundle with its tag. */
interface IssuedBundle {
  /**
   * A weak entity tag with its prefix and quotes: each process signs for itself, and no two signatures are the same (RFC 9110 §8.8.1). It
   * changes with the domain, with each new issue and with the key.
   */
  readonly entityTag: string;
  /** The tag of the same payload in the form that `GET` had in 0.1. */
  readonly formerTag: string;
  /** The time of the last change of the domain's policies as a tag, by which older clients know it. */
  readonly modifiedTag: string;
  /** Time of issue, in milliseconds since the epoch. */
  readonly issued: number;
  /** The JSON text that carries it, in parts. */
  readonly json: readonly Uint8Array[];
  /** Whether an assertion of it counts under conditions only. */
  hasConditions(): boolean;
}

/** A bundle that can be asked for: its tag is known before it is signed. */
export interface PublishedBundle {
  readonly entityTag: string;
  /** Former tag, as in `IssuedBundle`. */
  readonly formerTag: string;
  readonly modifiedTag: string;
  /** True if an assertion of it applies under conditions only, as of now. */
  hasConditions(): boolean;
  /**
   * The tag of a later issue of the same policies, which the caller has by its `If-None-Match` and keeps: from a server whose grid is another one,
   * as before an upgrade, or before the life of bundles was made longer. Hosts refuse what was issued before what they have.
   */
  laterIssue(header: string | undefined): string | undefined;
  /**
   * The bundle as of now, or a later one: a domain is signed once a second at most, and who comes in between gets, at the end of that second,
   * what holds then. Throws `ConflictError` when it would be larger than a bundle may be, `ServiceUnavailableError` when too many choices of
   * versions are asked for.
   */
  issue(): Promise<IssuedBundle>;
}

export interface BundlePublisher {
  publish(domain: DomainSnapshot, form: BundleForm, versions?: PolicyVersions): PublishedBundle;
  /** The older form (docs/reference/policy-bundles.md#forms). */
  publishOld(domain: DomainSnapshot): PublishedBundle;
}

/** Texts of bundles kept, in bytes. The size is given with each entry: its length is not known before it is signed. */
const cacheBytes = 64 * 1024 * 1024;

/** The time by a clock that a small step back does not move: hosts refuse what is issued before what they have. */
function withoutStepsBack(clock: Clock): () => number {
  let latest = 0;
  return () => {
    const now = clock.now();
    latest = latest > now + issuedSkew ? now : Math.max(latest, now);
    return latest;
  };
}

/** Signed form: bundles in DER carry the signature of those in `p1363`. */
type Shape = Exclude<BundleForm, 'der'>;

/** Signed content of a domain at one moment: the same until something of it changes. */
interface Edition {
  readonly id: string;
  readonly issued: number;
  readonly tagOf: (form: BundleForm) => string;
  readonly modifiedTag: string;
  readonly hasConditions: () => boolean;
  /** True if a tag, with its quotes, is that of a later issue in one of these forms; absent where tags do not tell. */
  readonly isLater?: (opaque: string, forms: readonly BundleForm[]) => boolean;
  readonly sign: () => Promise<SignedTexts>;
}

/** The JSON texts that carry one signature, in parts. */
interface SignedTexts {
  textOf(form: BundleForm): readonly Uint8Array[];
}

/** Lane of a signature, and identity of its work, which concurrent requests share. */
interface Turn {
  readonly lane: string;
  readonly piece: string;
}

/** Signs bundles on demand, each once, and each domain once a second at most. */
export function createBundlePublisher(deps: PublishBundleDeps): BundlePublisher {
  const lifetimeMs = deps.lifetimeSeconds * 1000;
  const now = withoutStepsBack(deps.clock);
  const takeTurn = signingTurns<readonly [Edition, SignedTexts]>(deps.pace);
  const signed = new LRUCache<string, Promise<SignedTexts>, number>({ maxSize: cacheBytes });

  /** Decides what the next bundle of a domain is, at this moment. */
  function editionOf(domain: DomainSnapshot, shape: Shape, versions: PolicyVersions): Edition {
    const key = deps.keys.key('bundle');
    const issued = issuedAt(now(), domain, lifetimeMs);
    const selection = versions.size === 0 ? '' : `.${selectionDigest(versions)}`;
    const name = { epoch: deps.snapshot().epoch, domain, kid: key.kid, selection };
    return {
      id: `${shape}.${editionId(name, issued)}${selection}`,
      issued,
      tagOf: (form) => editionTag(name, issued, form),
      modifiedTag: modifiedTag(domain),
      hasConditions: () => haveConditions(domain.policies, versions),
      isLater: (opaque, forms) => isLaterTag(opaque, name, { issued, latest: now() + issuedSkew }, forms),
      sign: () => signJws({ domain, epoch: name.epoch, issued, expires: issued + lifetimeMs, versions, shape }, key),
    };
  }

  function oldEditionOf(domain: DomainSnapshot): Edition {
    const issued = issuedAt(now(), domain, lifetimeMs);
    return oldEdition(
      domain,
      { epoch: deps.snapshot().epoch, issued, expires: issued + lifetimeMs },
      deps.keys.key('bundle'),
    );
  }

  function sign(domain: DomainSnapshot, { id, sign }: Edition): Promise<SignedTexts> {
    const cacheKey = `${domain.name} ${id}`;
    const known = signed.get(cacheKey);
    if (known !== undefined) return known;
    const made = deps.around === undefined ? sign() : deps.around(sign);
    signed.set(cacheKey, made, { size: 2000 + 200 * assertionCount(domain) });
    made.then(deps.onSigned, () => signed.delete(cacheKey));
    return made;
  }

  /** `decide` is asked again when it is the domain's turn: the domain may have changed meanwhile. */
  function published(
    domain: DomainSnapshot,
    { lane, piece }: Turn,
    form: BundleForm,
    decide: (domain: DomainSnapshot) => Edition,
  ): PublishedBundle {
    const edition = decide(domain);
    const signInTurn = async () => {
      const current = deps.snapshot().domain(domain.name) ?? domain;
      const next = decide(current);
      return [next, await sign(current, next)] as const;
    };
    return {
      ...describe(edition, form),
      laterIssue: (header) => laterIssueOf(edition, form, header),
      async issue() {
        const known = signed.get(`${domain.name} ${edition.id}`);
        const [current, texts] =
          known === undefined
            ? await takeTurn(`${domain.name} ${lane}`, piece, signInTurn)
            : ([edition, await known] as const);
        return { ...describe(current, form), json: texts.textOf(form) };
      },
    };
  }

  const publish = (domain: DomainSnapshot, form: BundleForm, versions: PolicyVersions) => {
    const shape = form === 'rfc7515' ? form : 'p1363';
    return published(domain, turnOf(shape, versions), form, (of) => editionOf(of, shape, versions));
  };
  const kept = keptBundles(lifetimeMs, (domain, form) => publish(domain, form, new Map()));

  return {
    publish(domain, form, versions) {
      if (versions !== undefined && versions.size > 0) return publish(domain, form, versions);
      return kept(domain, form, { key: deps.keys.key('bundle'), epoch: deps.snapshot().epoch, now: now() });
    },
    publishOld: (domain) => published(domain, { lane: 'old', piece: 'old' }, 'der', oldEditionOf),
  };
}

function oldEdition(
  domain: DomainSnapshot,
  { epoch, issued, expires }: Pick<BundleContent, 'epoch' | 'issued' | 'expires'>,
  key: SigningKey,
): Edition {
  return {
    id: `old.${epoch}.${domain.policyVersion}.${timesOf(domain, expires)}.${key.kid}`,
    issued,
    tagOf: () => modifiedTag(domain),
    modifiedTag: modifiedTag(domain),
    // Such a bundle is refused when it is signed.
    hasConditions: () => false,
    sign: () => signOld(domain, expires, key),
  };
}

function turnOf(shape: Shape, versions: PolicyVersions): Turn {
  return versions.size === 0 ? { lane: 'jws', piece: shape } : { lane: 'chosen', piece: selectionDigest(versions) };
}

/** The payload is the same in the form of 0.1. */
function laterIssueOf({ isLater }: Edition, form: BundleForm, header: string | undefined): string | undefined {
  if (header === undefined || isLater === undefined) return undefined;
  const opaque = findTag(header, (tag) => isLater(tag, [form, 'p1363']));
  return opaque === undefined ? undefined : `W/${opaque}`;
}

function describe(
  { tagOf, modifiedTag, hasConditions, issued }: Edition,
  form: BundleForm,
): Omit<IssuedBundle, 'json'> {
  return { entityTag: tagOf(form), formerTag: tagOf('p1363'), modifiedTag, hasConditions, issued };
}

function modifiedTag({ policyModified }: DomainSnapshot): string {
  return `"${formatTimestamp(policyModified)}"`;
}

async function signOld(
  { name, policyModified: modified, policies: all }: DomainSnapshot,
  expires: number,
  key: SigningKey,
) {
  const policies = selectPolicies(all, new Map());
  const text = [Buffer.from(JSON.stringify(signOldBundle({ domain: name, modified, expires, policies }, key)))];
  return { textOf: () => text };
}

/** The content of a bundle, before it is signed. */
interface BundleContent {
  readonly domain: DomainSnapshot;
  readonly epoch: number;
  readonly issued: number;
  readonly expires: number;
  readonly versions: PolicyVersions;
  readonly shape: Shape;
}

async function signJws({ domain, versions, shape, ...rest }: BundleContent, key: SigningKey): Promise<SignedTexts> {
  const { name, policyVersion: version, policyModified: modified } = domain;
  const policies = selectPolicies(domain.policies, versions);
  const data = buildBundle({ domain: name, version, modified, policies, ...rest });
  // A signed choice of versions must never pass for what is in force: the engine refuses a payload with this member.
  const chosen = versions.size === 0 ? data : { ...data, policyVersions: Object.fromEntries(versions) };
  const bundle = await signBundleInParts(chosen, key, shape, pauseBetweenSlices());
  const text = bundleText(bundle);
  if (text.reduce((sum, part) => sum + part.length, 0) > maxBundleBytes) {
    throw new ConflictError(`domain \`${name}\` has more policy than a bundle may hold (${maxBundleBytes} bytes)`);
  }
  return {
    textOf: (form) =>
      form === 'der' ? bundleText({ payload: bundle.payload, rest: withDerSignature(bundle.rest) }) : text,
  };
}

function assertionCount(domain: DomainSnapshot): number {
  return domain.policies.reduce((sum, policy) => sum + policy.assertions.length, 0);
}

function selectionDigest(versions: PolicyVersions): string {
  const entries = [...versions].sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('base64url').slice(0, 16);
}
