import type { DocumentProblem } from '@signet/server/errors';
import { type Coverage, coverageOf } from '@signet/server/management/coverage';
import { runCases } from '@signet/server/management/run-cases';
import type { ReadDocuments } from './read-documents.ts';

/** One policy test and what came of it. */
interface TestResult {
  readonly line: number;
  readonly text: string;
  readonly passed: boolean;
}

interface TestRun {
  readonly kind: 'ok';
  readonly passed: number;
  readonly failed: number;
  readonly results: readonly TestResult[];
  readonly coverage: Coverage;
}

export type TestsResult =
  | TestRun
  | { readonly kind: 'bad'; readonly problems: readonly Pick<DocumentProblem, 'line' | 'field' | 'message'>[] };

/** Runs the policy tests of documents as `signet test` does. */
export function runTests({ documents, snapshot, cases: read }: ReadDocuments, now: number): TestsResult {
  if (read.kind === 'bad') return read;
  const { passed, failures, deciding } = runCases(snapshot, [read.cases], now);
  const failed = new Map(failures.map((failure) => [failure.field, failure]));
  const results = read.cases.cases.map((one): TestResult => {
    const { line, field } = read.cases.source.problem([one.index], '');
    const failure = failed.get(field);
    const subject = one.subject.kind === 'principal' ? one.subject.principal : `[${one.subject.roles.join(', ')}]`;
    const question = `${subject} ${one.action} ${one.resource}: ${one.expect}`;
    const note = one.note === undefined ? '' : `${one.note}: `;
    return { line, text: `${note}${failure?.message ?? question}`, passed: failure === undefined };
  });
  return { kind: 'ok', passed, failed: failures.length, results, coverage: coverageOf(documents, deciding) };
}
