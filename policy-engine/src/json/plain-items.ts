const comma = 0x2c;
const colon = 0x3a;
const closeObject = 0x7d;

/** A member that another one of the same name hides takes at least so many characters: `"":0,`. */
const hiddenLength = 5;

/**
 * Where a run of objects in a list ends that begins at `from` and is not much longer than `length`: at a comma before an object whose first
 * member has the same name as that of the first one. Only a guess, as nothing else is looked at; undefined where there is none.
 */
export function endOfObjects(bytes: Uint8Array, from: number, length: number): number | undefined {
  const nameLength = bytes.indexOf(colon, from) - from;
  if (nameLength <= 0 || nameLength > length) return undefined;
  const last = Math.min(from + length, bytes.length - nameLength);
  for (let at = last; at > from; at -= 1) {
    const isEnd = bytes[at] === comma && bytes[at - 1] === closeObject;
    if (isEnd && isSame(bytes, at + 1, from, nameLength)) return at;
  }
  return undefined;
}

function isSame(bytes: Uint8Array, one: number, other: number, length: number): boolean {
  for (let index = 0; index < length; index += 1) if (bytes[one + index] !== bytes[other + index]) return false;
  return true;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The items of a list without its brackets as `JSON.parse` reads them, where the length of the text proves that it has nothing which a strict
 * reader would refuse; undefined where it does not. At most `levels` containers may be inside each other, the list itself included.
 *
 * What `JSON.parse` takes and a strict reader does not are half surrogate pairs, which are escapes here; numbers that are not finite; too many
 * levels; and members that are there twice, of which it keeps one. A text without escapes that is not longer by a member than
 * the shortest one for the same value holds no other member.
 */
export function parsePlainItems(bytes: Uint8Array, levels: number): readonly unknown[] | undefined {
  try {
    const list = `[${utf8.decode(bytes)}]`;
    if (list.includes('\\')) return undefined;
    const items: readonly unknown[] = JSON.parse(list);
    return list.length - leastLength(items, levels) < hiddenLength ? items : undefined;
  } catch {
    // Who looks closer says what is wrong, and where.
    return undefined;
  }
}

/** No text without escapes for this value is shorter; the least number where a strict reader refuses the value. */
function leastLength(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value === 'number') return leastDigits(value);
  if (typeof value !== 'object' || value === null) return value === false ? 5 : 4;
  if (levels === 0) return Number.NEGATIVE_INFINITY;
  // The brackets; a comma less than there are items or members.
  let length = 1;
  if (Array.isArray(value)) {
    for (const item of value) length += leastLength(item, levels - 1) + 1;
  } else {
    const members = value as Readonly<Record<string, unknown>>;
    for (const name of Object.keys(members)) length += name.length + leastLength(members[name], levels - 1) + 4;
  }
  return length === 1 ? 2 : length;
}

/** Of an integer its digits, with an exponent in place of more than two zeros at its end; of any other number one. */
function leastDigits(value: number): number {
  if (!Number.isFinite(value)) return Number.NEGATIVE_INFINITY;
  if (!Number.isSafeInteger(value)) return 1;
  let rest = Math.abs(value);
  let zeros = 0;
  for (; rest >= 10 && rest % 10 === 0; rest /= 10) zeros += 1;
  let digits = value < 0 ? 2 : 1;
  for (; rest >= 10; rest = Math.floor(rest / 10)) digits += 1;
  return digits + Math.min(zeros, 2);
}
