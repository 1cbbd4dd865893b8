import type { DomainName, RoleName } from '@signet/policy-engine/names';

/** One entry of a role: a principal, a group `domain:group.name`, or a pattern `*`, `media.*`, `media.play*`. */
export interface Member {
  readonly name: string;
  /** Milliseconds since the epoch; absent: never. */
  readonly expires?: number;
  readonly disabled: boolean;
}

export interface RoleSnapshot {
  readonly name: RoleName;
  /** The domain that decides who is in this role (delegated role). */
  readonly trust?: DomainName;
  /** Sorted by name. */
  readonly members: Iterable<Member>;
  readonly tokenExpirySeconds?: number;
  readonly certExpirySeconds?: number;
}
