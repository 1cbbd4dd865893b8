import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type DocumentProblem, InvalidDocumentError, InvalidRequestError } from '../../errors.ts';
import { parsePublicKey } from '../public-key.ts';
import { type CaseFile, parseCaseFile } from './case-file.ts';
import { type DomainDocument, parseDomainDocument } from './parse-document.ts';
import { repeatedDomains } from './repeated-domains.ts';

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
  const problems: DocumentProblem[] = [];
  const documents: DomainDocument[] = [];
  const cases: CaseFile[] = [];
  for (const name of yamlFiles(folder)) {
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    if (/\.cases\.ya?ml$/.test(name)) {
      const result = parseCaseFile(file, text);
      if (result.kind === 'ok') cases.push(result.cases);
      else problems.push(...result.problems);
      continue;
    }
    const result = parseDomainDocument(file, text, parsePublicKey);
    if (result.kind === 'ok') documents.push(result.document);
    else problems.push(...result.problems);
  }
  problems.push(...repeatedDomains(documents), ...misnamedFiles(documents));
  if (problems.length > 0) throw new InvalidDocumentError(problems);
  if (documents.length === 0) throw new InvalidRequestError(`folder \`${folder}\` holds no documents`);
  return { documents, cases };
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

function misnamedFiles(documents: readonly DomainDocument[]): DocumentProblem[] {
  return documents.flatMap(({ source, content: { name } }) => {
    const file = basename(source.file);
    if (file.replace(/\.ya?ml$/, '').toLowerCase() === name) return [];
    return [
      source.problem(['domain'], `\`${name}\` must be in \`${name}.yaml\`, not in \`${file}\`: change one of the two`),
    ];
  });
}
