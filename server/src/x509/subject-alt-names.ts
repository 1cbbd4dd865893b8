import { DerError, DerReader, element, sequence, tags } from '@signet/policy-engine/internal/der';

/** A subject alternative name, typed: text forms of certificates are never parsed. */
export type AltName =
  | { readonly kind: 'dns' | 'uri' | 'email'; readonly value: string }
  /** Four or sixteen octets in hexadecimal. */
  | { readonly kind: 'ip'; readonly value: string }
  /** Kind that no certificate of the server holds. */
  | { readonly kind: 'other'; readonly value: string };

const contextTags = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;

/** Maximum of names; more are refused before any of them is examined. */
export const maxAltNames = 64;
const maxAltNameLength = 2048;

const printableGrammar = /^[!-~]+$/;

function printable(content: Buffer): string {
  const text = content.toString('latin1');
  if (!printableGrammar.test(text)) throw new DerError('an alternative name holds a character that no name has');
  return text;
}

function altName(tag: number, content: Buffer): AltName {
  if (content.length === 0 || content.length > maxAltNameLength) {
    throw new DerError('an alternative name is empty or too long');
  }
  if (tag === contextTags.dns) return { kind: 'dns', value: printable(content) };
  if (tag === contextTags.uri) return { kind: 'uri', value: printable(content) };
  if (tag === contextTags.email) return { kind: 'email', value: printable(content) };
  if (tag !== contextTags.ip) return { kind: 'other', value: '' };
  if (content.length !== 4 && content.length !== 16) throw new DerError('an IP address has four or sixteen octets');
  return { kind: 'ip', value: content.toString('hex') };
}

/** Reads the value of a subjectAltName extension (RFC 5280 §4.2.1.6). Throws `DerError`. */
export function readAltNames(value: Buffer): readonly AltName[] {
  const outer = new DerReader(value);
  const reader = outer.enter(tags.sequence, 'the alternative names');
  outer.finish('the alternative names');
  if (reader.done) throw new DerError('the alternative names are an empty list');
  const names: AltName[] = [];
  while (!reader.done) {
    if (names.length >= maxAltNames) throw new DerError(`there are more than ${maxAltNames} alternative names`);
    const { tag, content } = reader.any('an alternative name');
    names.push(altName(tag, content));
  }
  return names;
}

/** The value of a subjectAltName extension with these names in this order. */
export function writeAltNames(names: readonly Exclude<AltName, { kind: 'other' }>[]): Buffer {
  const parts = names.map(({ kind, value }) =>
    element(contextTags[kind], Buffer.from(value, kind === 'ip' ? 'hex' : 'latin1')),
  );
  return sequence(...parts);
}

/** An address of four or sixteen octets in hexadecimal, as text. */
export function addressText(octets: string): string {
  const bytes = Buffer.from(octets, 'hex');
  if (bytes.length === 4) return [...bytes].join('.');
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
}

/** The resource that a right to have this address in a certificate is about: an IPv6 one with its eight groups, dots between them. */
export function addressResource(octets: string): string {
  return `sys.auth:address.${addressText(octets).replaceAll(':', '.')}`;
}
