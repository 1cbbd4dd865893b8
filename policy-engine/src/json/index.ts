export { JsonLimitError, type JsonLimits, JsonSyntaxError, parseStrictJson } from './strict-json.ts';
