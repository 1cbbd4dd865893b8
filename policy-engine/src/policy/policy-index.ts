import type { Glance } from './glance.ts';
import type { Search } from './search.ts';

/** The assertions of a policy, of which most questions are answered without a search. */
export abstract class PolicyIndex {
  /** Offers what matches; nothing that cannot take the place of what was found. */
  abstract search(search: Search): void;

  /**
   * What is seen of the question of a caller with one role at first. The resource is as it was asked for: where its domain does not stand in front as
   * policies write it, that takes a search.
   */
  abstract glance(role: string, action: string, resource: string): Glance;
}
