import type { DomainName, PrincipalName, RoleName } from '@signet/policy-engine/names';

/** Change that waits for the approval of other persons, or was made in an emergency and waits for their review. */
export interface StoredRequest {
  readonly id: number;
  readonly state: RequestState;
  /** The principal, or the user of the machine for a command beside the store. */
  readonly author: string;
  /** Serial number of the certificate that authenticated the author; absent beside the store. */
  readonly certificate?: string;
  /** Milliseconds since the epoch, as all times here. */
  readonly created: number;
  readonly expires: number;
  /** Time at which it was applied, rejected or withdrawn. */
  readonly closed?: number;
  readonly reason?: string;
  /** The domains that it changes, sorted. */
  readonly domains: readonly DomainName[];
  /** Approvals that it needed when it was made; what it needs now is decided when it is applied. */
  readonly needed: number;
  /** Digest of its effect, with nothing hidden, when it was made; absent for what was applied at once. */
  readonly effect?: string;
  /** What was applied without approval, and what would undo it, as JSON. */
  readonly outcome?: string;
  readonly kind: RequestContent['kind'];
  readonly content: RequestContent;
  readonly approvals: readonly Approval[];
}

/** `unreviewed`: applied by break-glass, and not looked at by another person yet. `expired` is not stored: an open request that is too old. */
export const requestStates = ['open', 'applied', 'rejected', 'withdrawn', 'expired', 'unreviewed'] as const;
export type RequestState = (typeof requestStates)[number];

/** Content of a request: a role for a time, an operation of the management API, or documents. */
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

export interface Approval {
  readonly by: PrincipalName;
  readonly at: number;
  readonly comment?: string;
  /** Digest of the effect with nothing hidden: the approval holds while it is the same. Absent for a review. */
  readonly effect?: string;
}

/** Filter of a list of requests, newest first. */
export interface RequestQuery {
  readonly state?: RequestState;
  readonly domain?: DomainName;
  readonly author?: string;
  /** Only requests with a smaller id. */
  readonly before?: number;
  readonly limit: number;
  /** Milliseconds since the epoch: decides which have expired. */
  readonly now: number;
}

export interface OpenQuery {
  readonly author: string;
  readonly domain: DomainName;
  readonly now: number;
}

/** How many open requests an author has, and how many concern a domain. */
export interface OpenRequests {
  readonly ofAuthor: number;
  readonly ofDomain: number;
}
