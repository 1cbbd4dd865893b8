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

/**
 * Reads `<domain>.yaml` and `<domain>.cases.yaml` of a folder (not of folders below it), in the order of their names. The name of a document
 * is that of its domain: else a copied file, or a slip in `domain`, would make another domain and leave the one that was meant. Throws
 * `InvalidDocumentError` with every problem of every file, `InvalidRequestError` when there is no document at all.
 */
export function readDocumentFolder(folder: string): DocumentFolder {
  const problems: (readonly DocumentProblem[])[] = [];
  const documents: DomainDocument[] = [];
  const cases: CaseFile[] = [];
  for (const name of yamlFiles(folder)) {
    const file = join(folder, name);
    const read = readText(file);
    if (typeof read !== 'string') {
      problems.push(read.problems);
      continue;
    }
    if (/\.cases\.ya?ml$/.test(name)) {
      const result = parseCaseFile(file, read);
      if (result.kind === 'ok') cases.push(result.cases);
      else problems.push(result.problems);
      continue;
    }
    const result = parseDomainDocument(file, read, parsePublicKey);
    if (result.kind === 'ok') documents.push(result.document);
    else problems.push(result.problems);
  }
  problems.push(repeatedDomains(documents), misnamedFiles(documents));
  if (problems.some((found) => found.length > 0)) throw new InvalidDocumentError(problems.flat());
  if (documents.length === 0) throw new InvalidRequestError(`folder \`${folder}\` holds no documents`);
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
