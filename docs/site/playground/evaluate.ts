import { statusMeaning } from '@signet/policy-engine/policy';
import { type Picture, pictureOf } from '@signet/server/console/pictures/picture';
import { PatternsTooComplexError } from '@signet/server/impact/atoms';
import { impactInSteps } from '@signet/server/impact/impact';
import { Work } from '@signet/server/impact/work';
import { describeReasons } from '@signet/server/management/describe-explanation';
import { describeImpact } from '@signet/server/management/describe-impact';
import { runAtOnce } from '@signet/server/steps/steps';
import { type Answered, ask, type QuestionProblem } from './ask.ts';
import { type Flip, flipOf } from './flip.ts';
import { documentsFile, type ReadDocuments, readDocuments } from './read-documents.ts';
import { runTests, type TestsResult } from './run-tests.ts';
import type { PlaygroundState } from './state.ts';

/** Something about a text, and the line that it is about. */
export interface Remark {
  readonly line: number;
  readonly text: string;
}

/** What is to be shown of an answer. */
export interface Answer {
  readonly kind: 'ok';
  readonly granted: boolean;
  readonly headline: string;
  readonly reasons: readonly string[];
  readonly flip?: Flip;
  readonly picture: Picture;
}

/** Everything that is to be shown of a state. Plain data: it comes from another thread. */
export interface Evaluation {
  /** What is wrong with the documents: nothing else is told then. */
  readonly problems: readonly Remark[];
  readonly warnings: readonly Remark[];
  readonly testWarnings: readonly Remark[];
  readonly answer?: Answer | { readonly kind: 'bad'; readonly problems: readonly QuestionProblem[] };
  readonly tests?: TestsResult;
  /** Against the baseline, a line for each change of access. Absent without a baseline. */
  readonly impact?: readonly string[];
}

/** Finding the impact takes a second or so at most. */
const impactBounds = { maxSteps: 100_000_000, maxKept: 500_000, maxListed: 200, maxListedCharacters: 200_000 };

/** Reads, asks, tests and compares at `now` (milliseconds). Pure. */
export function evaluate(state: PlaygroundState, now: number): Evaluation {
  const read = readDocuments(state.documents, state.tests, now);
  if (read.kind === 'bad') return { problems: read.problems.map(remarkOf), warnings: [], testWarnings: [] };
  const asked = ask(read.snapshot, read.domain, state.question, now);
  return {
    problems: [],
    warnings: read.warnings.filter(isOfDocuments).map(remarkOf),
    testWarnings: read.warnings.filter((warning) => !isOfDocuments(warning)).map(remarkOf),
    answer: asked.kind === 'bad' ? asked : answerOf(state, asked, now),
    tests: runTests(read, now),
    ...(state.baseline !== undefined && { impact: impactSince(state.baseline, read, now) }),
  };
}

function isOfDocuments({ file }: { file: string }): boolean {
  return file === documentsFile;
}

function remarkOf({ line, field, message }: { line: number; field: string; message: string }): Remark {
  return { line, text: field === '' ? message : `${field}: ${message}` };
}

function answerOf(state: PlaygroundState, answered: Answered, now: number): Answer {
  const { explained } = answered;
  const flip = flipOf(state, answered, now);
  return {
    kind: 'ok',
    granted: explained.granted,
    headline: `${explained.granted ? 'Granted' : 'Not granted'} (${explained.status}): ${statusMeaning(explained.status)}`,
    reasons: describeReasons(explained),
    ...(flip !== undefined && { flip }),
    picture: pictureOf(explained),
  };
}

function impactSince(baseline: string, after: ReadDocuments, now: number): readonly string[] {
  const before = readDocuments(baseline, '', now);
  if (before.kind === 'bad') return ['cannot be told, the baseline has problems'];
  return impactOf(before, after, now).map((line) => line.replace(/^access: /, ''));
}

function impactOf(before: ReadDocuments, { snapshot }: ReadDocuments, now: number): readonly string[] {
  try {
    const { changes, totals } = runAtOnce(impactInSteps(before.snapshot, snapshot, now, new Work(impactBounds)));
    return describeImpact(changes, totals);
  } catch (error) {
    if (error instanceof PatternsTooComplexError) return describeImpact(undefined);
    throw error;
  }
}
