import { DerError, DerReader, sequence, set, tags, utf8String } from '@signet/policy-engine/internal/der';
import { type Oid, oids } from './oids.ts';

type NameAttribute = 'commonName' | 'country' | 'locality' | 'stateOrProvince' | 'organization' | 'organizationalUnit';

/** Attribute of a subject. `value` is the text; `element` the whole relative name as encoded in the message. */
export interface RelativeName {
  readonly attribute: NameAttribute | 'other';
  readonly value: string;
  readonly element: Buffer;
}

const attributes = new Map<string, NameAttribute>(
  (['commonName', 'country', 'locality', 'stateOrProvince', 'organization', 'organizationalUnit'] as const).map(
    (attribute) => [oids[attribute].hex, attribute],
  ),
);

const maxRelativeNames = 16;
const utf8 = new TextDecoder('utf-8', { fatal: true });

function textOf(tag: number, content: Buffer): string {
  if (tag !== tags.utf8String && tag !== tags.printableString && tag !== tags.ia5String) {
    throw new DerError('a name must be a UTF-8, printable or IA5 string');
  }
  try {
    return utf8.decode(content);
  } catch {
    throw new DerError('a name is not valid UTF-8');
  }
}

/** Reads a Name (RFC 5280 §4.1.2.4) of one attribute a relative name: a multi-valued one is ambiguous and refused. */
export function readName(reader: DerReader): readonly RelativeName[] {
  const names: RelativeName[] = [];
  const sequenceOf = reader.enter(tags.sequence, 'the name');
  while (!sequenceOf.done) {
    if (names.length >= maxRelativeNames) throw new DerError('the name has too many parts');
    const element = sequenceOf.element(tags.set, 'a relative name');
    names.push(readRelativeName(element));
  }
  return names;
}

function readRelativeName(element: Buffer): RelativeName {
  const relative = new DerReader(element).enter(tags.set, 'a relative name');
  const pair = relative.enter(tags.sequence, 'a name attribute');
  relative.finish('a relative name');
  const type = pair.oid('the attribute type');
  const { tag, content } = pair.any('the attribute value');
  pair.finish('a name attribute');
  const attribute = attributes.get(type);
  if (attribute === undefined) return { attribute: 'other', value: '', element };
  return { attribute, value: textOf(tag, content), element };
}

/** A relative name of one attribute, as a UTF8String. */
export function relativeName(type: Oid, value: string): Buffer {
  return set(sequence(type.der, utf8String(value)));
}
