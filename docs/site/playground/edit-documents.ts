import { foldAscii } from '@signet/policy-engine/names';
import type { Change } from '@signet/policy-engine/policy';
import { type Document, isMap, isScalar, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { piecesOf } from './split-documents.ts';

/** A change of documents: one that the engine suggests, or a member that leaves a role or group. */
export type Edit =
  | Change
  | {
      readonly kind: 'remove-member';
      readonly domain: string;
      readonly list: 'roles' | 'groups';
      readonly name: string;
      readonly member: string;
    };

/**
 * The text with the edits done for a principal, comments and nearly all else as they were. `domain`: the one whose policies an edit means
 * that names none. Undefined where an edit cannot be made here, e.g. where a role trusts another domain.
 */
export function editDocuments(
  text: string,
  edits: readonly Edit[],
  { principal, domain }: { readonly principal: string; readonly domain: string },
): string | undefined {
  const pieces = piecesOf(text).map((piece, index) => ({
    piece,
    document: index % 2 === 0 ? parsed(piece) : undefined,
  }));
  const changed = new Set<Document>();
  for (const edit of lastFirst(edits)) {
    const wanted = edit.kind === 'remove-assertion' ? domain : edit.domain;
    const document = pieces.find((one) => one.document !== undefined && domainOf(one.document) === wanted)?.document;
    if (document === undefined || !apply(document, edit, principal)) return undefined;
    changed.add(document);
  }
  return pieces
    .map(({ piece, document }) => (document && changed.has(document) ? written(piece, document) : piece))
    .join('');
}

function parsed(piece: string): Document {
  return parseDocument(piece, { stringKeys: true, uniqueKeys: false });
}

/** Lines that would differ from what they were only in blanks between words and within brackets stay as they were. */
function written(piece: string, document: Document): string {
  const lines = new Map(piece.split('\n').map((line) => [tight(line), line]));
  const text = document.toString({ lineWidth: 0 }).split('\n');
  const kept = text.map((line) => lines.get(tight(line)) ?? line).join('\n');
  return piece.startsWith('\n') ? `\n${kept}` : kept;
}

function tight(line: string): string {
  return line.replaceAll(/(?<=\S) +/g, ' ').replaceAll(/([[{]) | ([\]}])/g, '$1$2');
}

function domainOf(document: Document): string | undefined {
  const name = isMap(document.contents) ? document.get('domain') : undefined;
  return typeof name === 'string' ? foldAscii(name) : undefined;
}

/** Assertions are told by their place: the last one of a policy goes first. */
function lastFirst(edits: readonly Edit[]): readonly Edit[] {
  const place = (edit: Edit) => (edit.kind === 'remove-assertion' ? (edit.assertion.id ?? 0) : 0);
  return edits.toSorted((a, b) => place(b) - place(a));
}

function apply(document: Document, edit: Edit, principal: string): boolean {
  switch (edit.kind) {
    case 'grant-role':
      return addMember(document, edit.role, principal);
    case 'add-assertion':
      return addAssertion(document, edit);
    case 'remove-assertion':
      return removeAssertion(document, edit.policy, edit.assertion.id);
    case 'remove-member':
      return removeMember(membersOf(entryOf(document, edit.list, edit.name)), edit.member);
  }
}

/** The value of an entry of a mapping of the document; names are compared without case. */
function entryOf(document: Document, mapping: 'roles' | 'groups' | 'policies', name: string): unknown {
  const entries = document.get(mapping);
  if (!isMap(entries)) return undefined;
  return entries.items.find(({ key }) => isScalar(key) && foldAscii(String(key.value)) === name)?.value;
}

function addMember(document: Document, role: string, principal: string): boolean {
  const entry = entryOf(document, 'roles', role);
  if (entry === undefined) {
    document.setIn(['roles', role], document.createNode({ members: [principal] }));
    return true;
  }
  // Who is in a role that trusts another domain is said there.
  if (!isMap(entry) || entry.has('trust')) return false;
  const members = membersOf(entry);
  // An entry that does not count any more gives way.
  if (members !== undefined) removeMember(members, principal);
  if (members === undefined) entry.set('members', document.createNode([principal]));
  else members.add(document.createNode(principal));
  return true;
}

function membersOf(entry: unknown): YAMLSeq | undefined {
  const members = isMap(entry) ? entry.get('members') : undefined;
  return isSeq(members) ? members : undefined;
}

function removeMember(members: YAMLSeq | undefined, name: string): boolean {
  const at = members?.items.findIndex((item) => memberName(item) === name) ?? -1;
  return members !== undefined && at >= 0 && members.delete(at);
}

function memberName(item: unknown): string | undefined {
  const name = isMap(item) ? item.get('name') : isScalar(item) ? item.value : undefined;
  return typeof name === 'string' ? foldAscii(name) : undefined;
}

function addAssertion(document: Document, { domain, assertion }: Extract<Edit, { kind: 'add-assertion' }>): boolean {
  const { effect, action, resource, role } = assertion;
  const added: YAMLMap = document.createNode(
    {
      effect: effect.toLowerCase(),
      action,
      resource: resource.replace(`${domain}:`, ''),
      role: role.replace(`${domain}:role.`, ''),
    },
    { flow: true },
  );
  const policies = document.get('policies');
  const list = isMap(policies) ? policies.items.map(({ value }) => value).find(isSeq) : undefined;
  if (list !== undefined) list.add(added);
  else if (document.hasIn(['policies', 'added'])) return false;
  else document.setIn(['policies', 'added'], document.createNode([added]));
  return true;
}

/** `id`: its place in the active version of the policy, from 1. */
function removeAssertion(document: Document, policy: string, id = 0): boolean {
  const entry = entryOf(document, 'policies', policy);
  const active = isMap(entry) ? entry.get('active') : undefined;
  const versions = isMap(entry) ? entry.get('versions') : undefined;
  const list = isMap(versions) ? versions.get(String(active)) : entry;
  return isSeq(list) && list.delete(id - 1);
}
