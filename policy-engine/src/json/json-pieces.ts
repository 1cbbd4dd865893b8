/** Items of a list in one piece. */
const sliceLength = 512;

/** An item that holds a longer list is taken apart itself. */
const shortList = 100;

/** Text of `JSON.stringify` for plain data, in pieces of some ten thousand characters where it holds long lists. */
export function* jsonPieces(value: unknown): Generator<string> {
  if (Array.isArray(value)) yield* listPieces(value);
  else if (typeof value === 'object' && value !== null) yield* objectPieces(value);
  else yield JSON.stringify(value);
}

function* listPieces(list: readonly unknown[]): Generator<string> {
  yield '[';
  for (let at = 0; at < list.length; at += sliceLength) {
    const slice = list.slice(at, at + sliceLength);
    if (at > 0) yield ',';
    if (slice.every(isSmall)) yield JSON.stringify(slice).slice(1, -1);
    else yield* itemPieces(slice);
  }
  yield ']';
}

function* itemPieces(items: readonly unknown[]): Generator<string> {
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ',';
    yield* jsonPieces(item ?? null);
  }
}

function* objectPieces(value: object): Generator<string> {
  let before = '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(member);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

function isSmall(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return true;
  for (const name in item) {
    const field: unknown = Reflect.get(item, name);
    if (typeof field === 'object' && Array.isArray(field) && field.length > shortList) return false;
  }
  return true;
}
