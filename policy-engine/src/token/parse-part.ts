import { parseStrictJson } from '../json/strict-json.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A text with no more openings of objects and arrays is not nested deeper than strict JSON may be. */
const maxOpenings = 32;

/** The JSON object that a part of a token holds; `undefined` for what strict JSON refuses (`parseStrictJson`) and for other values. */
export function parsePart(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = decoder.decode(bytes);
    const value = parseAsWritten(text) ?? parseStrictJson(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The value of a text that `JSON.stringify` would write itself, as most issuers have it write their tokens; else `undefined`. Such a text
 * has no member twice and no number that does not fit, or it would be written otherwise; without escapes it has no half of a character.
 */
function parseAsWritten(text: string): unknown {
  if (text.includes('\\') || text.split(/[[{]/, maxOpenings + 2).length > maxOpenings + 1) return undefined;
  const value: unknown = JSON.parse(text);
  return JSON.stringify(value) === text ? value : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
