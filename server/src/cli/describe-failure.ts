import { type DocumentProblem, formatProblem } from '../errors.ts';

/** A problem with its place, and the note of the policy test that it is of: a line each, with whatever they hold. */
export function describeFailure(failure: DocumentProblem & { readonly note?: string }): string[] {
  const { note } = failure;
  return [formatProblem(failure), ...(note === undefined ? [] : [`  ${note}`])];
}
