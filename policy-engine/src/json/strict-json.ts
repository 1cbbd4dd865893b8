import type { Steps } from '../steps/steps.ts';
import { JsonSyntaxError } from './json-errors.ts';
import { type PieceOptions, PieceReader } from './piece-reader.ts';
import { type JsonLimits, JsonScanner } from './scanner.ts';

/** Bytes between two yields. */
const pieceLength = 32_768;

const encoder = new TextEncoder();

/**
 * Parses JSON as RFC 8259 wants it and as every other reader must understand it too: duplicate members, lone surrogates,
 * numbers too large for a double, a byte order mark and more than 32 levels are refused. Throws `JsonSyntaxError`, and
 * `JsonLimitError` as soon as it meets more than `limits` allow.
 */
export function parseStrictJson(text: string, limits: JsonLimits = {}): unknown {
  // Validated before parsing: that keeps a refusal cheap, and JSON.parse quotes the text in its errors.
  new JsonScanner(encodeStrictly(text), limits).scan();
  return JSON.parse(text);
}

/** `parseStrictJson` in slices, for large documents in UTF-8. */
export function* parseInSteps(bytes: Uint8Array, options: Partial<PieceOptions> = {}): Steps<unknown> {
  const reader = new PieceReader(bytes, { pieceLength, ...options });
  while (!reader.readOn()) yield;
  return reader.value;
}

/** The text in UTF-8. Throws `JsonSyntaxError` for half a surrogate pair. */
export function encodeStrictly(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new JsonSyntaxError('half a surrogate pair', text.search(/\p{Surrogate}/u));
  return encoder.encode(text);
}
