import { base64url } from 'jose';
import { linkPrefix } from './link-prefix.ts';
import { type PlaygroundState, stateSchema } from './state.ts';

/** Characters that a link carries at most, and bytes that they may become. */
export const linkBounds = { characters: 65_536, bytes: 1_048_576 };

export type Opened =
  | { readonly kind: 'ok'; readonly state: PlaygroundState }
  | { readonly kind: 'bad'; readonly message: string };

/** The fragment that carries the state: compressed JSON; undefined where it is too long for a link. */
export async function linkOf(state: PlaygroundState): Promise<string | undefined> {
  const packed = await piped(new Blob([JSON.stringify(state)]), new CompressionStream('deflate-raw'));
  const carried = packed && base64url.encode(new Uint8Array(await packed.arrayBuffer()));
  return carried === undefined || carried.length > linkBounds.characters ? undefined : `${linkPrefix}${carried}`;
}

/** Reads a fragment that anybody may have made. */
export async function openLink(fragment: string): Promise<Opened> {
  const carried = fragment.slice(linkPrefix.length);
  if (!fragment.startsWith(linkPrefix) || !/^[\w-]+$/.test(carried)) return bad('it is malformed');
  if (carried.length > linkBounds.characters) return bad('it is too long');
  try {
    const packed = new Blob([Uint8Array.from(base64url.decode(carried))]);
    const json = await piped(packed, new DecompressionStream('deflate-raw'));
    if (json === undefined) return bad('what it carries is too large');
    const parsed = stateSchema.safeParse(JSON.parse(await json.text()));
    return parsed.success ? { kind: 'ok', state: parsed.data } : bad('it carries no example');
  } catch {
    return bad('it is malformed');
  }
}

function bad(why: string): Opened {
  return { kind: 'bad', message: `the link cannot be opened: ${why}` };
}

/** What the stream makes of the bytes; undefined where it is too large: no more than the bound is read. */
async function piped(bytes: Blob, stream: GenericTransformStream): Promise<Blob | undefined> {
  const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> = bytes.stream().pipeThrough(stream).getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    length += piece.value.length;
    if (length > linkBounds.bytes) {
      await reader.cancel();
      return undefined;
    }
    pieces.push(piece.value);
  }
  return new Blob(pieces);
}
