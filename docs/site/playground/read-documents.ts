import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidDocumentError } from '@signet/server/errors';
import { checkDocuments } from '@signet/server/management/check-documents';
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
  readonly warnings: readonly DocumentProblem[];
  /** The domain of the first document. */
  readonly domain: DomainName;
}

type DocumentsResult =
  | ReadDocuments
  | { readonly kind: 'bad'; readonly problems: readonly Pick<DocumentProblem, 'line' | 'field' | 'message'>[] };

/** Reads domain documents as `signet test` does, at `now` (milliseconds), but that public keys are taken as they are. */
export function readDocuments(text: string, now: number): DocumentsResult {
  if (text.length > maxTextLength) return bad(`has more than ${maxTextLength} characters`);
  const documents: DomainDocument[] = [];
  const problems: DocumentProblem[] = [];
  for (const part of splitDocuments(text)) {
    // With as many empty lines before it as there are lines: problems name the line of the whole text.
    const result = parseDomainDocument('documents', '\n'.repeat(part.linesBefore) + part.text, (pem) => pem);
    if (result.kind === 'ok') documents.push(result.document);
    else problems.push(...result.problems);
  }
  problems.push(...repeatedDomains(documents));
  if (problems.length > 0) return { kind: 'bad', problems };
  const [first] = documents;
  if (first === undefined) return bad('there is no domain document');
  try {
    return { kind: 'ok', documents, ...checkDocuments(documents, noStore, now), domain: first.content.name };
  } catch (error) {
    if (error instanceof InvalidDocumentError) return { kind: 'bad', problems: error.problems };
    throw error;
  }
}

function bad(message: string): DocumentsResult {
  return { kind: 'bad', problems: [{ line: 1, field: '', message }] };
}
