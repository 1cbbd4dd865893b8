/** Grammar of a list's entity tag, with the prefix of a weak one (RFC 9110 §8.8.3). */
const elementGrammar = /[ \t,]*(W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/y;
const weakPrefix = /^W\//;

/**
 * True if `If-None-Match` names this entity tag (RFC 9110 §13.1.2): `*`, or a list in which one tag is the same in the weak comparison. An empty
 * header is as if absent.
 */
export function matchesEntityTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  // The common case: a client sends back what it was given.
  if (header === tag) return true;
  const opaque = tag.replace(weakPrefix, '');
  return names(header, (_weak, element) => element === opaque);
}

/**
 * True if `If-Match` names the object of this entity tag (RFC 9110 §13.1.1): `*`, or a list in which one tag is the same in the strong
 * comparison, which a weak one never is. Without a tag only `*` does.
 */
export function matchesStrongly(header: string, tag: string | undefined): boolean {
  return names(header, (weak, element) => weak === undefined && element === tag);
}

/** The first opaque tag of the list, with its quotes, that passes; `*` is none. */
export function findTag(header: string, passes: (opaque: string) => boolean): string | undefined {
  let found: string | undefined;
  names(header, (_weak, opaque = '') => {
    if (passes(opaque)) found = opaque;
    return found !== undefined;
  });
  return found;
}

function names(header: string, isIt: (weak: string | undefined, opaque: string | undefined) => boolean): boolean {
  const text = header.trim();
  if (text === '*') return true;
  const element = new RegExp(elementGrammar);
  for (let found = element.exec(text); found !== null; found = element.exec(text)) {
    if (isIt(found[1], found[2])) return true;
  }
  return false;
}
