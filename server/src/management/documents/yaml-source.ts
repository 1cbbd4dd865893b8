import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { DocumentProblem } from '../../errors.ts';
import { maxProblems } from './places.ts';

export type FieldPath = readonly PropertyKey[];

/** A YAML file whose parts can be found again by their path. */
export interface YamlSource {
  readonly file: string;
  /** Plain data: what the file says, unchecked. */
  readonly value: unknown;
  /** A problem with the part at `path`; with `at` = `key` at its name instead of its value. */
  problem(path: FieldPath, message: string, at?: 'key' | 'value'): DocumentProblem;
}

type YamlResult =
  | { readonly kind: 'ok'; readonly source: YamlSource }
  | { readonly kind: 'bad'; readonly problems: readonly DocumentProblem[] };

export const maxCharacters = 8 * 1024 * 1024;
export const tooLong = 'the file is larger than 8 MiB';

/** Different names of entries: each role, group, policy, service and key that quotas allow, and those of fields. */
export const maxNames = 50_000;
/** Values, lists and mappings: a hundred thousand members with an expiry each, which quotas allow. */
export const maxNodes = 600_000;

const scalarMark = '\u001f';
const beginnings: ReadonlySet<string> = new Set(['-', '[', '{', '*', '"', "'", scalarMark]);

/** Reason why a text is too large to be parsed. It is counted by its tokens: a parsed entry takes four kilobytes, a token nothing. */
function sizeFault(text: string): string | undefined {
  if (text.length > maxCharacters) return tooLong;
  const names = new Set<string>();
  let nodes = 0;
  for (const { isNode, name } of countedTokens(text)) {
    if (isNode) nodes += 1;
    if (name !== undefined) names.add(name);
    if (names.size > maxNames) return `the file has more than ${maxNames} different names of entries`;
    if (nodes > maxNodes) return `the file has more than ${maxNodes} values`;
  }
  return undefined;
}

/** The tokens of a text: whether one begins a node, and the name that it makes of the scalar before it, or after `?`. */
function* countedTokens(text: string): Generator<{ readonly isNode: boolean; readonly name: string | undefined }> {
  let [scalar, before] = ['', ''];
  let isExplicit = false;
  for (const token of new Lexer().lex(text)) {
    const isPlain = before === scalarMark;
    const isScalar = isPlain || token.startsWith('"') || token.startsWith("'");
    if (isScalar) scalar = token;
    const isName = token === ':' ? !isPlain : isScalar && isExplicit;
    if (token === '?') isExplicit = !isPlain;
    else if (isScalar) isExplicit = false;
    before = token;
    yield { isNode: !isPlain && beginnings.has(token.charAt(0)), name: isName ? scalar : undefined };
  }
}

/** Reads one YAML 1.2 document; syntax errors, repeated keys and several documents in one file are problems with their place. */
export function parseYaml(file: string, text: string): YamlResult {
  const size = sizeFault(text);
  if (size !== undefined) return badAt(file, size);
  const lines = new LineCounter();
  // Repeated keys are looked for below: the library compares each key with each other one.
  const options = { lineCounter: lines, stringKeys: true, prettyErrors: false, uniqueKeys: false };
  const document = parseDocument(text, options);
  const faults = [...document.errors, ...document.warnings].map(({ pos, code, message }) => ({
    offset: pos[0],
    // The library says that the stack was exhausted.
    message: code === 'RESOURCE_EXHAUSTION' ? 'is nested too deeply' : message,
  }));
  faults.push(...forbiddenKeys(document));
  if (faults.length > 0) {
    const problems = faults.slice(0, maxProblems).map(({ offset, message }) => {
      const { line, col } = lines.linePos(offset);
      return { file, line, column: col, field: '', message: lowerFirst(message) };
    });
    return { kind: 'bad', problems };
  }
  try {
    return { kind: 'ok', source: yamlSource(file, document.contents, document.toJS(), lines) };
  } catch (error) {
    // Aliases are resolved only here: one may lack its anchor, or they may be an attack by their number.
    if (error instanceof ReferenceError) return badAt(file, lowerFirst(error.message));
    throw error;
  }
}

/** A problem with a file that has no parts to name. */
export function badAt(file: string, message: string): Extract<YamlResult, { readonly kind: 'bad' }> {
  return { kind: 'bad', problems: [{ file, line: 1, column: 1, field: '', message }] };
}

function yamlSource(file: string, root: Node | null, value: unknown, lines: LineCounter): YamlSource {
  const pairs: KnownPairs = new Map();
  const problem = (path: FieldPath, message: string, at: 'key' | 'value' = 'value'): DocumentProblem => {
    const { offset, depth } = find(root, path, at, pairs);
    const { line, col } = lines.linePos(offset);
    const field = formatPath(path.slice(0, depth));
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), field, message };
  };
  return { file, value, problem };
}

/** Parts of a document whose keys are names, of which `__proto__` is one: their schema is `mapping`, which keeps it. */
const mappingsOfNames: ReadonlySet<unknown> = new Set(['roles', 'groups', 'policies', 'services', 'publicKeys']);

/** Repeated entries, and those that would get lost on the way into an object. */
function forbiddenKeys(document: Document): { readonly offset: number; readonly message: string }[] {
  const found: { offset: number; message: string }[] = [];
  visit(document, {
    Map: (_, { items }, path) => {
      const parent = path.at(-1);
      const hasNames = isPair(parent) && isScalar(parent.key) && mappingsOfNames.has(parent.key.value);
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const offset = start(key) ?? 0;
        if (key.value === '__proto__' && !hasNames)
          found.push({ offset, message: '`__proto__` is not allowed as a name' });
        if (seen.has(key.value)) found.push({ offset, message: 'map keys must be unique' });
        seen.add(key.value);
      }
    },
  });
  return found;
}

/** `roles.reader.members[0]`. */
export function formatPath(path: FieldPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text;
}

/** The entries of mappings by their keys, of those that were looked into: there may be ten thousand, and a problem with each. */
type KnownPairs = Map<YAMLMap, ReadonlyMap<string, Pair>>;

/** Follows the path as far as the document does: a missing part is reported where it should have been. */
function find(
  root: Node | null,
  path: FieldPath,
  at: 'key' | 'value',
  pairs: KnownPairs,
): { offset: number; depth: number } {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  for (const [depth, part] of path.entries()) {
    if (!isMap(node) && !isSeq(node)) return { offset, depth };
    const step = stepInto(node, part, at === 'key' && depth === path.length - 1, pairs);
    if (step === undefined) return { offset, depth: path.length };
    offset = step.offset ?? offset;
    node = step.node;
  }
  return { offset, depth: path.length };
}

/** An entry with a plain value stands where the value does, one with parts of its own where its name does. */
function stepInto(
  node: YAMLMap | YAMLSeq,
  part: PropertyKey,
  key: boolean,
  pairs: KnownPairs,
): { readonly node: unknown; readonly offset: number | undefined } | undefined {
  if (isSeq(node)) return { node: node.items[Number(part)], offset: start(node.items[Number(part)]) };
  const entries = pairs.get(node) ?? pairsOf(node);
  pairs.set(node, entries);
  const pair = entries.get(String(part));
  if (pair === undefined) return undefined;
  const named = start(pair.key);
  return { node: pair.value, offset: isScalar(pair.value) && !key ? (start(pair.value) ?? named) : named };
}

function pairsOf({ items }: YAMLMap): ReadonlyMap<string, Pair> {
  // Keys are unique.
  return new Map(items.flatMap((item) => (isScalar(item.key) ? [[String(item.key.value), item] as const] : [])));
}

function start(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
