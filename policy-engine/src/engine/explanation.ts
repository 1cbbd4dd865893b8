import { checkRequest } from '../policy/decide.ts';
import {
  type Change,
  type DecisionContext,
  explainInDomain,
  type PolicyExplanation,
  type Status,
  statusMeaning,
} from '../policy/index.ts';
import type { ServedDomains } from '../served-domains.ts';
import type { TokenFault, VerifiedAccessToken } from '../token/claims.ts';
import type { LoadedDomain, PolicySet } from './policy-set.ts';

/** A change outside of policy: another token, certificate, bundle or domain. */
export type CredentialChange =
  | { readonly kind: 'renew-token' }
  | { readonly kind: 'present-certificate'; readonly thumbprint: string }
  | { readonly kind: 'bind-token' }
  | { readonly kind: 'renew-policy'; readonly domain: string }
  | { readonly kind: 'get-token-of-domain'; readonly domain: string };

/** Explanation of a decision: one shape for the engine, the server and the command line. */
export interface Explanation {
  readonly status: Status;
  /** The status in one sentence. */
  readonly meaning: string;
  readonly request: {
    readonly domain?: string;
    readonly roles: readonly string[];
    readonly action: string;
    readonly resource: string;
  };
  readonly decidedBy?: PolicyExplanation['decidedBy'];
  /** The bundle that was asked. Times are milliseconds since the epoch, ages milliseconds. */
  readonly bundle?: {
    readonly epoch?: number;
    readonly version?: number;
    readonly issued?: number;
    readonly expires?: number;
    readonly ageMs?: number;
  };
  /** The token that was used; `fault` when it was not accepted. Never the token itself. */
  readonly token?: {
    readonly id?: string;
    readonly subject?: string;
    readonly issuer?: string;
    readonly kid?: string;
    /** Seconds since the epoch. */
    readonly expires?: number;
    readonly thumbprint?: string;
    readonly fault?: TokenFault;
  };
  readonly nearMisses: PolicyExplanation['nearMisses'];
  /** Smallest set of changes after which a denied request is allowed; empty when none is known. */
  readonly changes: readonly (Change | CredentialChange)[];
}

/** Input of an explanation. */
interface ExplainInput {
  readonly domain: string;
  readonly roles: readonly string[];
  readonly action: string;
  readonly resource: string;
  readonly context: DecisionContext | undefined;
  readonly now: number;
}

/** Explanation of a credential that is not valid for a resource of this service; `undefined` when policy decides. */
export function explainUnserved(served: ServedDomains, request: Explanation['request'] & { domain: string }) {
  const { domain, resource } = request;
  const refusal = served.refusal(domain, resource);
  if (refusal === undefined) return undefined;
  const needed = refusal === 'DENY_DOMAIN_MISMATCH' ? served.neededFor(resource) : undefined;
  const changes = needed === undefined || needed === domain ? [] : [getTokenOf(needed)];
  return explanation(refusal, request, { changes });
}

function getTokenOf(domain: string): CredentialChange {
  return { kind: 'get-token-of-domain', domain };
}

export function explainInSet(set: PolicySet, input: ExplainInput): Explanation {
  const { domain, roles, action, resource, now } = input;
  const request = { domain, roles, action, resource };
  const refusal = checkRequest(domain, roles, action, resource);
  const loaded = set.get(domain);
  if (refusal === 'DENY_DOMAIN_MISMATCH') {
    const other = resource.slice(0, resource.indexOf(':')).toLowerCase();
    return explanation(refusal, request, { changes: [getTokenOf(other)] });
  }
  if (refusal === 'DENY_INVALID_PARAMETERS') return explanation(refusal, request, {});
  if (loaded === undefined) return explanation(refusal ?? 'DENY_DOMAIN_NOT_FOUND', request, {});
  const explained = explainInDomain(loaded.policy, roles, action, resource, input.context);
  const bundle = { bundle: bundleOf(loaded, now) };
  if (now < loaded.expires) return explanation(explained.status, request, { ...explained, ...bundle });
  return explanation(refusal ?? 'DENY_DOMAIN_EXPIRED', request, {
    ...explained,
    ...bundle,
    changes: [{ kind: 'renew-policy', domain }, ...explained.changes],
  });
}

function bundleOf(loaded: LoadedDomain, now: number): NonNullable<Explanation['bundle']> {
  const { issued, expires, policy } = loaded;
  return {
    ...policy.revision,
    ...(issued !== undefined && { issued, ageMs: now - issued }),
    ...(Number.isFinite(expires) && { expires }),
  };
}

/** Combines the parts of an explanation; the given status replaces theirs. */
export function explanation(
  status: Status,
  request: Explanation['request'],
  parts: Partial<Omit<Explanation, 'status' | 'meaning' | 'request'>>,
): Explanation {
  return {
    nearMisses: [],
    changes: [],
    ...parts,
    status,
    meaning: statusMeaning(status),
    request,
  };
}

/** Token part of an explanation. */
export function describeToken(token: VerifiedAccessToken): NonNullable<Explanation['token']> {
  const { tokenId, subject, issuer, kid, expires, thumbprint } = token;
  return {
    ...(tokenId !== undefined && { id: tokenId }),
    subject,
    issuer,
    kid,
    expires,
    ...(thumbprint !== undefined && { thumbprint }),
  };
}
