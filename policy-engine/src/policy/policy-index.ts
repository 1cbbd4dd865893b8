import { AssertionIndex } from './assertion-group.ts';
import type { Glance } from './glance.ts';
import type { Question } from './search.ts';

/** The assertions of a policy, of which most questions are answered without a search. */
export abstract class PolicyIndex extends AssertionIndex {
  /** What is seen of a question at first. The name of its resource begins at `nameStart`. */
  abstract glance(roles: readonly string[], question: Question, nameStart: number): Glance;
}
