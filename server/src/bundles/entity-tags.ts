/**
 * Whether `If-None-Match` names this entity tag (RFC 9110 §13.1.2): `*`, or a list in which one tag is the same in the weak
 * comparison. An empty header is as if absent.
 */
export function matchesEntityTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  // The common case: a client sends back what it was given.
  if (header === tag) return true;
  const text = header.trim();
  if (text === '*') return true;
  const element = /[ \t,]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/y;
  for (let found = element.exec(text); found !== null; found = element.exec(text)) {
    if (found[1] === tag) return true;
  }
  return false;
}
