import type { DomainName, PrincipalName, RoleName } from '@signet/policy-engine/names';

/** Change that waits for the approval of other persons, or was made in an emergency and waits for their review. */
export interface StoredRequest {
  readonly id: number;
  readonly state: RequestState;
  readonly author: PrincipalName;
  /** Milliseconds since the epoch, as all times here. */
  readonly created: number;
  readonly expires: number;
  /** Time at which it was applied, rejected or withdrawn, or expired. */
  readonly closed?: number;
  readonly reason?: string;
  /** The domains that it changes, sorted. */
  readonly domains: readonly DomainName[];
  /** Approvals that it needed when it was made; what it needs now is decided when it is applied. */
  readonly needed: number;
  /** Digest of the effect as its author saw it; absent for a role that is asked for. */
  readonly digest?: string;
  readonly content: RequestContent;
  readonly approvals: readonly Approval[];
}

/** `unreviewed`: applied by break-glass, and not looked at by another person yet. */
export const requestStates = ['open', 'applied', 'rejected', 'withdrawn', 'expired', 'unreviewed'] as const;
export type RequestState = (typeof requestStates)[number];

/** What is asked for. */
export type RequestContent =
  | { readonly kind: 'role'; readonly domain: DomainName; readonly role: RoleName; readonly seconds: number }
  | {
      readonly kind: 'edit';
      /** Id of the operation of the management API. */
      readonly operation: string;
      readonly params: Readonly<Record<string, string>>;
      readonly flags: readonly string[];
      readonly body?: unknown;
    }
  | {
      readonly kind: 'documents';
      readonly files: readonly { readonly name: string; readonly text: string }[];
      readonly flags: readonly string[];
    };

export type RequestKind = RequestContent['kind'];

export interface Approval {
  readonly by: PrincipalName;
  readonly at: number;
  readonly comment?: string;
  /** Digest of the effect without anything left out: the approval holds while it is the same. */
  readonly effect: string;
}

/** Filter of a list of requests, newest first. */
export interface RequestQuery {
  readonly state?: RequestState;
  readonly domain?: DomainName;
  readonly author?: PrincipalName;
  /** Only requests with a smaller id. */
  readonly before?: number;
  readonly limit: number;
}
