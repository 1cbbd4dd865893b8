import { readFileSync } from 'node:fs';

/** Members of a type that is a union of texts, as a source of the engine declares it. */
export function unionIn(file: string, type: string): readonly string[] {
  const source = readFileSync(new URL(`../../policy-engine/src/${file}`, import.meta.url), 'utf8');
  const [, union = ''] = new RegExp(`export type ${type} =([^;]*);`).exec(source) ?? [];
  return [...union.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
}
