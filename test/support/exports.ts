import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

/** Exports of a source file: values, and names that exist as types only. */
export function exportsOf(file: string): { values: string[]; types: string[] } {
  const code = readFileSync(file, 'utf8');
  const found = { values: [] as string[], types: [] as string[] };
  for (const [, isType, list = ''] of code.matchAll(/^export (type )?\{([^}]*)\}/gm)) {
    for (const entry of list.split(',').map((name) => name.trim())) {
      if (entry === '') continue;
      const name = entry.replace(/^type /, '');
      (isType !== undefined || name !== entry ? found.types : found.values).push(name);
    }
  }
  for (const [, from = ''] of code.matchAll(/^export (?:type )?\* from '([^']+)'/gm)) {
    const inner = exportsOf(join(dirname(file), from));
    found.values.push(...inner.values);
    found.types.push(...inner.types);
  }
  for (const { name, isType } of declarationsOf(code)) (isType ? found.types : found.values).push(name);
  return { values: sorted(found.values), types: sorted(found.types) };
}

/** A declaration that is exported where it stands. */
export interface Declaration {
  readonly name: string;
  readonly isType: boolean;
  /** The line before it ends a docstring, a suppression of the linter aside. */
  readonly isDescribed: boolean;
}

/** Exported declarations of a TypeScript text; of overloads the first. */
export function declarationsOf(code: string): Declaration[] {
  const grammar = /^export (?:declare )?(?:abstract )?(?:async )?(function\*?|const|class|interface|type) (\w+)/gm;
  const found = new Map<string, Declaration>();
  for (const { 1: kind, 2: name = '', index } of code.matchAll(grammar)) {
    const isType = kind === 'interface' || kind === 'type';
    if (!found.has(name))
      found.set(name, { name, isType, isDescribed: /\*\/\n(?:\/\/ biome-ignore .*\n)?$/.test(code.slice(0, index)) });
  }
  return [...found.values()];
}
