import type { DomainName } from '@signet/policy-engine/names';

export interface DueReview {
  readonly domain: DomainName;
  readonly kind: 'role' | 'group';
  /** The role or group. */
  readonly name: string;
  readonly member: string;
  /** Milliseconds since the epoch, as `expires`. */
  readonly review: number;
  readonly expires?: number;
}

/** The place of a review in the list of them. */
export type ReviewPlace = Pick<DueReview, 'review' | 'domain' | 'kind' | 'name' | 'member'>;

export interface DueReviewQuery {
  /** Due at this time, milliseconds since the epoch. */
  readonly at: number;
  readonly domain?: DomainName;
  /** Filter: only those that follow this one. */
  readonly after?: ReviewPlace;
  readonly limit: number;
  /** True if the caller may know of it. */
  readonly isVisible: (review: DueReview) => boolean;
  readonly looked?: ((rows: number) => void) | undefined;
}
