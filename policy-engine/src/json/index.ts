export { JsonLimitError, JsonSyntaxError } from './json-errors.ts';
export type { JsonLimits } from './scanner.ts';
export { parseStrictJson } from './strict-json.ts';
