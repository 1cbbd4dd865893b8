import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isSeq, parse, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { ConfigError } from './config-error.ts';

/* `certificates.issuers` of a configuration file, changed so that everything else in it, comments included, stays. */

/** An issuer as the file names it. */
interface IssuerEntry {
  readonly certificate: string;
  readonly key: string;
}

/** Edit of the list, by the places of its entries. */
export type IssuersEdit =
  /** A new one behind those that are there: it publishes its list, and signs when it is made the first. */
  | { readonly kind: 'add'; readonly entry: IssuerEntry }
  /** A new one, or one that is there, signs from now on; all others only publish their lists. */
  | { readonly kind: 'lead'; readonly entry: IssuerEntry | number }
  | { readonly kind: 'remove'; readonly index: number };

const path = ['certificates', 'issuers'];

/** The text of the file with the list changed. Throws `ConfigError` where the file does not hold the list as such. */
export function editIssuers(file: string, text: string, edit: IssuersEdit): string {
  const document = parseDocument(text);
  const issuers: unknown = document.getIn(path);
  if (document.errors.length > 0 || !isSeq(issuers) || !issuers.items.every(isMap)) {
    throw new ConfigError(file, ['certificates.issuers is not a list in the file itself: change it by hand']);
  }
  const before: unknown = parse(text);
  apply(document, issuers as YAMLSeq<YAMLMap>, edit);
  const edited = document.toString({ lineWidth: 0 });
  if (!isOnlyThat(before, parse(edited)))
    throw new ConfigError(file, ['it cannot be changed safely: change it by hand']);
  return edited;
}

function apply(document: Document, issuers: YAMLSeq<YAMLMap>, edit: IssuersEdit): void {
  if (edit.kind === 'remove') issuers.delete(edit.index);
  else if (edit.kind === 'add') issuers.add(document.createNode({ ...edit.entry }) as YAMLMap);
  else {
    const { entry } = edit;
    const [leader] =
      typeof entry === 'number' ? issuers.items.splice(entry, 1) : [document.createNode({ ...entry }) as YAMLMap];
    for (const other of issuers.items) other.set('state', 'draining');
    keepComment(issuers);
    leader?.delete('state');
    if (leader !== undefined) issuers.items.unshift(leader);
  }
}

/** A comment above the first entry is that of the list for the parser: it stays with the entry. */
function keepComment(issuers: YAMLSeq<YAMLMap>): void {
  const [first] = issuers.items;
  if (first === undefined || !issuers.commentBefore) return;
  first.commentBefore ??= issuers.commentBefore;
  issuers.commentBefore = null;
}

/** Aliases and tags may make one change into several. */
function isOnlyThat(before: unknown, after: unknown): boolean {
  return isDeepStrictEqual(withoutIssuers(before), withoutIssuers(after));
}

function withoutIssuers(values: unknown): unknown {
  const copy = structuredClone(values) as Record<string, Record<string, unknown>>;
  delete copy['certificates']?.['issuers'];
  return copy;
}
