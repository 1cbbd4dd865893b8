import { Readable } from 'node:stream';
import type Koa from 'koa';
import { piecesOf } from '../steps/json-steps.ts';

/** A large answer is handed to the connection in slices of at most this many characters, each once the one before was taken. */
export const sliceCharacters = 65_536;

/** Answers a text or parts of one, slice by slice where they are large. The type of the body must have been set. */
export function answerInSlices(
  { response }: Pick<Koa.Context, 'response'>,
  body: string | readonly Uint8Array[],
): void {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.reduce((sum, part) => sum + part.length, 0);
  const isSmall = typeof body !== 'string' && length <= sliceCharacters;
  // A stream for a small body costs more than copying it.
  response.body = isSmall ? Buffer.concat(body) : Readable.from(slicesOf(body), { objectMode: false });
  response.length = length;
}

function* slicesOf(body: string | readonly Uint8Array[]): Generator<Uint8Array> {
  if (typeof body === 'string') {
    for (const piece of piecesOf(body, sliceCharacters)) yield Buffer.from(piece);
    return;
  }
  for (const part of body) {
    for (let at = 0; at < part.length; at += sliceCharacters) yield part.subarray(at, at + sliceCharacters);
  }
}
