import type { DocumentProblem } from '@signet/server/errors';
import { type Coverage, coverageOf } from '@signet/server/management/coverage';
import { parseCaseFile } from '@signet/server/management/documents/case-file';
import { runCases } from '@signet/server/management/run-cases';
import type { ReadDocuments } from './read-documents.ts';
import { maxTextLength } from './state.ts';

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

/** Runs policy tests as `signet test` does; those that name no domain are about that of the first document. */
export function runTests(text: string, { documents, snapshot, domain }: ReadDocuments, now: number): TestsResult {
  if (text.length > maxTextLength) {
    return { kind: 'bad', problems: [{ line: 1, field: '', message: `has more than ${maxTextLength} characters` }] };
  }
  const read = parseCaseFile(`${domain}.cases.yaml`, text);
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
