import { createHmac, timingSafeEqual } from 'node:crypto';
import { InvalidRequestError } from '../errors.ts';

/** Page of a list. `next` asks for the following one; absent on the last. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

export interface PageRequest {
  /** Name of the list, with its filters: a cursor of another list is refused. */
  readonly list: string;
  readonly limit: number;
  readonly cursor?: string;
}

/**
 * Cuts a page out of a sorted list. The cursor holds the key of the last item, not a number, so that nothing is skipped or repeated when the
 * list changes meanwhile. Throws `InvalidRequestError` for a cursor that was not signed here or belongs to another list.
 */
export function pageOf<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  request: PageRequest,
  secret: Uint8Array,
): Page<Item> {
  const after = request.cursor === undefined ? undefined : readCursor(request.cursor, request.list, secret);
  const rest = after === undefined ? items : items.filter((item) => keyOf(item) > after);
  const page = rest.slice(0, request.limit);
  const last = page.at(-1);
  if (last === undefined || rest.length <= page.length) return { items: page };
  return { items: page, next: makeCursor(keyOf(last), request.list, secret) };
}

/** The same for a list that is not read whole: `read` answers at most `limit` items of those whose keys come after `after`. */
export async function readPage<Item>(
  read: (after: string, limit: number) => Promise<readonly Item[]>,
  keyOf: (item: Item) => string,
  request: PageRequest,
  secret: Uint8Array,
): Promise<Page<Item>> {
  const after = request.cursor === undefined ? '' : readCursor(request.cursor, request.list, secret);
  const items = await read(after, request.limit + 1);
  return pageOf(items, keyOf, { list: request.list, limit: request.limit }, secret);
}

/** An opaque text that carries `key`, signed for one list. */
export function makeCursor(key: string, list: string, secret: Uint8Array): string {
  return `${Buffer.from(key).toString('base64url')}.${signature(key, list, secret).toString('base64url')}`;
}

/** The key that `makeCursor` put in. Throws `InvalidRequestError`. */
export function readCursor(cursor: string, list: string, secret: Uint8Array): string {
  const [text = '', sign = '', ...more] = cursor.split('.');
  const key = Buffer.from(text, 'base64url').toString();
  const given = Buffer.from(sign, 'base64url');
  const right = signature(key, list, secret);
  if (more.length > 0 || given.length !== right.length || !timingSafeEqual(given, right)) {
    throw new InvalidRequestError('cursor is not one that this list gave');
  }
  return key;
}

function signature(key: string, list: string, secret: Uint8Array): Buffer {
  return createHmac('sha256', secret)
    .update(JSON.stringify([list, key]))
    .digest()
    .subarray(0, 16);
}
