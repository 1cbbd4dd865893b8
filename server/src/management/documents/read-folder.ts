import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { domainFileName } from '@signet/policy-engine/internal/files';
import type { DomainName } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidDocumentError, InvalidRequestError } from '../../errors.ts';
import { parsePublicKey } from '../public-key.ts';
import { type CaseFile, parseCaseFile } from './case-file.ts';
import { type DocumentResult, type DomainDocument, parseDomainDocument } from './parse-document.ts';
import { repeatedDomains } from './repeated-domains.ts';
import { badAt, maxCharacters, tooLong } from './yaml-source.ts';

/** The documents of a folder, each right in itself. */
export interface DocumentFolder {
  readonly documents: readonly DomainDocument[];
  readonly cases: readonly CaseFile[];
}

/** A file of a folder: its text, or what is wrong with it. */
export interface FolderFile {
  /** As problems name it. */
  readonly file: string;
  readonly text: string | Extract<DocumentResult, { readonly kind: 'bad' }>;
}

/** True if a file name is one of policy tests. */
export function isCaseFile(name: string): boolean {
  return /\.cases\.ya?ml$/.test(name);
}

/**
 * Reads `<domain>.yaml` and `<domain>.cases.yaml` of a folder (not of folders below it), in the order of their names. Throws
 * `InvalidDocumentError` with every problem of every file, `InvalidRequestError` when there is no document at all.
 */
export function readDocumentFolder(folder: string): DocumentFolder {
  const read = parseFolder(readFolderFiles(folder));
  if (read.documents.length === 0) throw new InvalidRequestError(`folder \`${folder}\` holds no documents`);
  return read;
}

/** The files of a folder that hold documents or policy tests, unparsed, in the order of their names. */
export function readFolderFiles(folder: string): FolderFile[] {
  return yamlFiles(folder).map((name) => {
    const file = join(folder, name);
    return { file, text: readText(file) };
  });
}

/**
 * Parses the files of a folder. The name of a document is that of its domain: else a copied file, or a slip in `domain`, would make another domain
 * and leave the one that was meant. Throws `InvalidDocumentError` with every problem of every file.
 */
export function parseFolder(files: readonly FolderFile[]): DocumentFolder {
  const problems: (readonly DocumentProblem[])[] = [];
  const documents: DomainDocument[] = [];
  const cases: CaseFile[] = [];
  for (const { file, text } of files) {
    if (typeof text !== 'string') {
      problems.push(text.problems);
    } else if (isCaseFile(file)) {
      const result = parseCaseFile(file, text);
      if (result.kind === 'ok') cases.push(result.cases);
      else problems.push(result.problems);
    } else {
      const result = parseDomainDocument(file, text, parsePublicKey);
      if (result.kind === 'ok') documents.push(result.document);
      else problems.push(result.problems);
    }
  }
  problems.push(repeatedDomains(documents), misnamedFiles(documents));
  if (problems.some((found) => found.length > 0)) throw new InvalidDocumentError(problems.flat());
  return { documents, cases };
}

/** Name of the file of a domain's document. `<name>.cases.yaml` holds policy tests, whatever the name. */
export function documentName(domain: DomainName): string {
  return domainFileName(domain, '.yaml');
}

function yamlFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
      .sort();
  } catch (error) {
    throw new InvalidRequestError(`folder \`${folder}\` cannot be read`, { cause: error });
  }
}

/** Characters of UTF-8 take at most three bytes for each unit that their length counts. */
const bytesACharacter = 3;

/** The text of a regular file, or what is wrong with it. Links are followed: Kubernetes mounts documents as such. */
function readText(file: string): string | Extract<DocumentResult, { readonly kind: 'bad' }> {
  try {
    // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) return badAt(file, 'is not a regular file');
      if (stats.size > bytesACharacter * maxCharacters) return badAt(file, tooLong);
      return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(descriptor));
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return badAt(file, code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not UTF-8 text' : `cannot be read (${code})`);
  }
}

function misnamedFiles(documents: readonly DomainDocument[]): DocumentProblem[] {
  return documents.flatMap(({ source, content: { name } }) => {
    const [file, right] = [basename(source.file), documentName(name)];
    if (file.replace(/\.ya?ml$/, '.yaml').toLowerCase() === right) return [];
    return [
      source.problem(['domain'], `\`${name}\` must be in \`${right}\`, not in \`${file}\`: change one of the two`),
    ];
  });
}
