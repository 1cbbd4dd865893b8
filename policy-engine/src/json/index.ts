export { JsonSyntaxError, parseStrictJson } from './strict-json.ts';
