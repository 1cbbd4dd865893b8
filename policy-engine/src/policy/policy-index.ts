import { AssertionIndex } from './assertion-group.ts';
import type { Glance } from './glance.ts';

/** The assertions of a policy, of which most questions are answered without a search. */
export abstract class PolicyIndex extends AssertionIndex {
  /** What is seen of the question of a caller with one role at first. The resource has its domain in front, as policies write it. */
  abstract glance(role: string, action: string, resource: string): Glance;
}
