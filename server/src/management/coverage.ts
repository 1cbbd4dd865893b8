import type { DocumentProblem } from '../errors.ts';
import { describeAssertion } from './describe-assertion.ts';
import type { DomainDocument } from './documents/parse-document.ts';
import { assertionPlaces } from './documents/places.ts';
import { assertionKey } from './run-cases.ts';

/** How many assertions of the active policies decided at least one case, and which did not. */
export interface Coverage {
  readonly covered: number;
  readonly total: number;
  /** Places of the assertions that no case has tried. */
  readonly uncovered: readonly DocumentProblem[];
}

/** Coverage of the documents by the cases of `deciding` (from `runCases`). Pure. */
export function coverageOf(documents: readonly DomainDocument[], deciding: ReadonlySet<string>): Coverage {
  const uncovered: DocumentProblem[] = [];
  let total = 0;
  for (const { source, content } of documents) {
    const placeOf = assertionPlaces(source.value);
    for (const policy of content.policies) {
      if (!policy.active) continue;
      for (const [index, assertion] of policy.assertions.entries()) {
        total += 1;
        if (deciding.has(assertionKey(content.name, policy.name, index + 1))) continue;
        const message = `no test covers: ${describeAssertion(assertion)}`;
        uncovered.push(source.problem(placeOf(policy, index), message));
      }
    }
  }
  return { covered: total - uncovered.length, total, uncovered };
}
