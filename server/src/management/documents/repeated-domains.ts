import type { DocumentProblem } from '../../errors.ts';
import type { DomainDocument } from './parse-document.ts';

/** The documents of a domain that another document has declared before. */
export function repeatedDomains(documents: readonly DomainDocument[]): DocumentProblem[] {
  const files = new Map<string, string>();
  return documents.flatMap(({ source, content }) => {
    const other = files.get(content.name);
    files.set(content.name, source.file);
    if (other === undefined) return [];
    return [source.problem(['domain'], `domain \`${content.name}\` is declared in ${other} already`)];
  });
}
