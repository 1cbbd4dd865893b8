import { InvalidRequestError } from '../errors.ts';

const maxParameters = 64;
const printable = /^[\x20-\x7e]*$/;

/**
 * The parameters of a query or a form body (`application/x-www-form-urlencoded`): flat, none twice, empty ones left out
 * (RFC 6749 §3.2). Throws `InvalidRequestError` for a repeated name, for a name with brackets, which some parsers take for nesting, and
 * for bytes or escapes that are not UTF-8 text.
 */
export function parseParameters(text: string, where: 'query' | 'body'): ReadonlyMap<string, string> {
  if (!printable.test(text)) throw notEncoded(where);
  const pairs = text.split('&').filter((pair) => pair !== '');
  if (pairs.length > maxParameters) {
    throw new InvalidRequestError(`the ${where} has more than ${maxParameters} parameters`);
  }
  const all = new Map<string, string>();
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), where);
    checkName(name, all, where);
    all.set(name, equals < 0 ? '' : decode(pair.slice(equals + 1), where));
  }
  for (const [name, value] of all) if (value === '') all.delete(name);
  return all;
}

function checkName(name: string, known: ReadonlyMap<string, string>, where: string): void {
  if (known.has(name)) throw new InvalidRequestError(`a parameter is repeated in the ${where}`);
  if (name.includes('[') || name.includes(']')) {
    throw new InvalidRequestError(`a parameter name in the ${where} has brackets: parameters are flat`);
  }
}

/** Every percent escape must be complete and their bytes UTF-8: URLSearchParams would repair them silently, and costs twice as much. */
function decode(text: string, where: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw notEncoded(where);
  }
}

function notEncoded(where: string): InvalidRequestError {
  return new InvalidRequestError(`the ${where} is not form-encoded`);
}
