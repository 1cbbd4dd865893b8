import { InvalidRequestError } from '../errors.ts';

const maxParameters = 64;
const printable = /^[\x20-\x7e]*$/;

/**
 * The parameters of a query or a form body (`application/x-www-form-urlencoded`): flat, none twice, empty ones left out
 * (RFC 6749 §3.2). Throws `InvalidRequestError` for a repeated name, for a name with brackets, which some parsers take for nesting, and
 * for bytes or escapes that are not UTF-8 text.
 */
export function parseParameters(text: string, where: 'query' | 'body'): ReadonlyMap<string, string> {
  if (!printable.test(text) || !hasCleanEscapes(text))
    throw new InvalidRequestError(`the ${where} is not form-encoded`);
  const parameters = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (seen.has(name)) throw new InvalidRequestError(`a parameter is repeated in the ${where}`);
    if (seen.size === maxParameters)
      throw new InvalidRequestError(`the ${where} has more than ${maxParameters} parameters`);
    if (/[[\]]/.test(name))
      throw new InvalidRequestError(`a parameter name in the ${where} has brackets: parameters are flat`);
    seen.add(name);
    if (value !== '') parameters.set(name, value);
  }
  return parameters;
}

/** Whether every percent escape is complete and their bytes are UTF-8: URLSearchParams would mend them silently. */
function hasCleanEscapes(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
