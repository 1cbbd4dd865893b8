/** Longest path that is looked at, in UTF-16 code units. */
const maxPathLength = 8192;

/**
 * A backslash; a `#`, which no request has (RFC 9112 §3.2): some end the path there, others go on; characters that no
 * address has (RFC 3986 §2), which some routers cut off; codes of `/`, `%` and a backslash; codes of characters that
 * never need one (§2.3), as not all routers decode them.
 */
const ambiguous = /[\\#]|[^!-~]|%(?:2[5d-f]|3\d|[46][1-9a-f]|[57][\da]|5[cf]|7e)/i;

/**
 * The one form of a request path that rules see: percent codes decoded exactly once, no trailing `/`, query cut off.
 * A path that two programs could read differently is refused, not repaired: empty, `.` and `..` segments, a code for `/`, `%`, a letter,
 * a digit, `-`, `.`, `_` or `~`, a backslash, a `#`, blanks and other characters than ASCII without a code, control characters, bad percent
 * codes and bad UTF-8 answer `undefined`.
 */
export function canonicalPath(target: string): string | undefined {
  const end = target.indexOf('?');
  const raw = end < 0 ? target : target.slice(0, end);
  if (!raw.startsWith('/') || raw.length > maxPathLength) return undefined;
  if (ambiguous.test(raw)) return undefined;
  const decoded = decodeOnce(raw);
  if (decoded === undefined || hasControlCharacter(decoded)) return undefined;
  if (decoded === '/') return decoded;
  const path = decoded.endsWith('/') ? decoded.slice(0, -1) : decoded;
  const segments = path.slice(1).split('/');
  return segments.some((segment) => segment === '' || segment === '.' || segment === '..') ? undefined : path;
}

function decodeOnce(raw: string): string | undefined {
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}

function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit === 0x7f) return true;
  }
  return false;
}
