import { DerError, type DerReader } from './der-reader.ts';
import { tags } from './der-writer.ts';

/** An extension of a certificate (RFC 5280 §4.2). */
export interface Extension {
  readonly critical: boolean;
  /** Content of the OCTET STRING. */
  readonly value: Buffer;
}

/** Extensions by their object identifier in hexadecimal, in their order. Throws `DerError`, also for one that stands twice. */
export function readExtensions(list: DerReader): ReadonlyMap<string, Extension> {
  const extensions = new Map<string, Extension>();
  while (!list.done) {
    const extension = list.enter(tags.sequence, 'an extension');
    const type = extension.oid('the extension type');
    const critical = extension.next(tags.boolean) && extension.content(tags.boolean, 'the critical flag')[0] === 0xff;
    const value = extension.content(tags.octetString, 'the extension value');
    extension.finish('an extension');
    if (extensions.has(type)) throw new DerError('an extension stands twice');
    extensions.set(type, { critical, value });
  }
  return extensions;
}
