import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidDocumentError } from '@signet/server/errors';
import { checkDocuments } from '@signet/server/management/check-documents';
import { type CaseFileResult, parseCaseFile } from '@signet/server/management/documents/case-file';
import { type DomainDocument, parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { repeatedDomains } from '@signet/server/management/documents/repeated-domains';
import { noStore } from '@signet/server/management/stored-world';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import { splitDocuments } from './split-documents.ts';
import { maxTextLength } from './state.ts';

/** Documents that are right, ready for questions. */
export interface ReadDocuments {
  readonly kind: 'ok';
  readonly documents: readonly DomainDocument[];
  readonly snapshot: Snapshot;
  /** The policy tests, which may be wrong in themselves. */
  readonly cases: CaseFileResult;
  /** Of documents and tests. */
  readonly warnings: readonly DocumentProblem[];
  /** The domain of the first document. */
  readonly domain: DomainName;
}

type DocumentsResult =
  | ReadDocuments
  | { readonly kind: 'bad'; readonly problems: readonly Pick<DocumentProblem, 'line' | 'field' | 'message'>[] };

/** What warnings and problems of the documents name as their file. */
export const documentsFile = 'documents';

/**
 * Reads domain documents and policy tests as `signet test` does, at `now` (milliseconds), but that public keys are taken as they are. Tests
 * that name no domain are about that of the first document.
 */
export function readDocuments(text: string, tests: string, now: number): DocumentsResult {
  if (text.length > maxTextLength) return bad(tooLong);
  const documents: DomainDocument[] = [];
  const problems: DocumentProblem[] = [];
  for (const part of splitDocuments(text)) {
    // With as many empty lines before it as there are lines: problems name the line of the whole text.
    const result = parseDomainDocument(documentsFile, '\n'.repeat(part.linesBefore) + part.text, (pem) => pem);
    if (result.kind === 'ok') documents.push(result.document);
    else problems.push(...result.problems);
  }
  problems.push(...repeatedDomains(documents));
  if (problems.length > 0) return { kind: 'bad', problems };
  const [first] = documents;
  if (first === undefined) return bad('there is no domain document');
  const { name: domain } = first.content;
  const cases = readCases(tests, domain);
  const files = cases.kind === 'ok' ? [cases.cases] : [];
  try {
    return { kind: 'ok', documents, domain, cases, ...checkDocuments(documents, noStore, now, files) };
  } catch (error) {
    if (error instanceof InvalidDocumentError) return { kind: 'bad', problems: error.problems };
    throw error;
  }
}

const tooLong = `has more than ${maxTextLength} characters`;

function readCases(text: string, domain: DomainName): CaseFileResult {
  const file = `${domain}.cases.yaml`;
  if (text.length <= maxTextLength) return parseCaseFile(file, text);
  return { kind: 'bad', problems: [{ file, line: 1, column: 1, field: '', message: tooLong }] };
}

function bad(message: string): DocumentsResult {
  return { kind: 'bad', problems: [{ line: 1, field: '', message }] };
}
