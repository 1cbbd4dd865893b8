import { type Steps, sliceLength } from './steps.ts';

/** Text that is JSON already, as the audit log keeps it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A list whose items are put into their shape when it is made JSON: there may be a hundred thousand of them. */
export class JsonList<Item> {
  readonly #items: readonly Item[];
  readonly #shape: (item: Item) => unknown;

  constructor(items: readonly Item[], shape: (item: Item) => unknown) {
    this.#items = items;
    this.#shape = shape;
  }

  *slices(): Generator<unknown[]> {
    for (let at = 0; at < this.#items.length; at += sliceLength) {
      yield this.#items.slice(at, at + sliceLength).map(this.#shape);
    }
  }

  toJSON(): unknown[] {
    return this.#items.map(this.#shape);
  }
}

/** Text of `JSON.stringify` for plain data, in slices: a list may have a hundred thousand items. */
export function* jsonInSteps(value: unknown): Steps<string> {
  if (value instanceof JsonText) return value.text;
  if (value instanceof JsonList) return yield* shapedInSteps(value);
  if (Array.isArray(value)) return yield* listInSteps(value);
  if (typeof value === 'object' && value !== null) return yield* objectInSteps(value);
  return JSON.stringify(value);
}

function* listInSteps(list: readonly unknown[]): Steps<string> {
  const parts: string[] = [];
  for (let at = 0; at < list.length; at += sliceLength) {
    const slice = list.slice(at, at + sliceLength);
    // Items of a long list are small nearly always, others may be lists themselves.
    if (list.length > sliceLength && slice.every(isSmall)) parts.push(JSON.stringify(slice).slice(1, -1));
    else for (const item of slice) parts.push((yield* jsonInSteps(item)) ?? 'null');
    yield;
  }
  return `[${parts.join(',')}]`;
}

function* shapedInSteps(list: JsonList<unknown>): Steps<string> {
  const parts: string[] = [];
  for (const slice of list.slices()) {
    parts.push(JSON.stringify(slice).slice(1, -1));
    yield;
  }
  return `[${parts.join(',')}]`;
}

function* objectInSteps(value: object): Steps<string> {
  const parts: string[] = [];
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined) continue;
    parts.push(`${JSON.stringify(key)}:${yield* jsonInSteps(field)}`);
    yield;
  }
  return `{${parts.join(',')}}`;
}

/** A list in it that is longer is made JSON by itself. */
const smallLength = 100;

function isSmall(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return true;
  if (item instanceof JsonText) return false;
  return Object.values(item).every((field) => !Array.isArray(field) || field.length <= smallLength);
}

/** Characters per slice, which are hashed or quoted in about a millisecond. */
const pieceCharacters = 128 * 1024;

/** A text in pieces; the halves of a pair of surrogates stay together. */
export function* piecesOf(text: string, characters = pieceCharacters): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const last = text.charCodeAt(at + characters - 1);
    const end = at + characters - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    yield text.slice(at, end);
    at = end;
  }
}

export function* quotedPieces(text: string): Generator<string> {
  yield '"';
  for (const piece of piecesOf(text)) yield JSON.stringify(piece).slice(1, -1);
  yield '"';
}
