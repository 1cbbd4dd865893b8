/** Longest message of an answer and longest text in a line of the log, in bytes. */
export const maxMessageBytes = 1024;
/** Longest stack of calls in a line of the log, in bytes. */
const maxStackBytes = 4096;
/** Maximum of logged items; further ones are only counted. */
const maxLoggedItems = 200;

const mark = ' ...';
const encoder = new TextEncoder();

/** The text, or its beginning with a mark when it has more than `maxBytes` bytes of UTF-8. Characters stay whole. */
export function shortText(text: string, maxBytes = maxMessageBytes): string {
  // Fast path: at most three bytes for each unit of UTF-16.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  if (read === text.length) return text;
  const kept = encoder.encodeInto(text, new Uint8Array(maxBytes - mark.length));
  return `${text.slice(0, kept.read)}${mark}`;
}

/** The members of a line of the log, none of which is long: a line that is too large for the stream would be lost. */
export function shortLine(line: Record<string, unknown>): Record<string, unknown> {
  let result = line;
  for (const key of Object.keys(line)) {
    const value = line[key];
    const shown = shortValue(key, value);
    if (shown === value) continue;
    if (result === line) result = { ...line };
    result[key] = shown;
  }
  return result;
}

function shortValue(key: string, value: unknown): unknown {
  if (typeof value === 'string') return shortText(value, key === 'stack' ? maxStackBytes : maxMessageBytes);
  if (Array.isArray(value)) {
    const shown = value.slice(0, maxLoggedItems).map((item) => shortValue('', item));
    return value.length > maxLoggedItems ? [...shown, `${value.length - maxLoggedItems} more`] : shown;
  }
  return isPlain(value) ? shortLine(value) : value;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
