import type { Steps } from '../steps/steps.ts';
import { PieceReader } from './piece-reader.ts';
import { type JsonLimits, JsonScanner } from './scanner.ts';

/** Characters between two yields. */
const pieceLength = 32_768;

/**
 * Parses JSON as RFC 8259 wants it and as every other reader must understand it too: duplicate members, lone surrogates,
 * numbers too large for a double, a byte order mark and more than 32 levels are refused. Throws `JsonSyntaxError`, and
 * `JsonLimitError` as soon as it meets more than `limits` allow.
 */
export function parseStrictJson(text: string, limits: JsonLimits = {}): unknown {
  // Refused by what it is before anything is made of it: that keeps a refusal cheap, and JSON.parse quotes what it refuses.
  new JsonScanner(text, limits).scan();
  return JSON.parse(text);
}

/** `parseStrictJson` in slices, for large documents. */
export function* parseInSteps(text: string, length = pieceLength): Steps<unknown> {
  const reader = new PieceReader(text, length);
  while (!reader.readOn()) yield;
  return reader.value;
}
