import { didYouMean } from '@signet/policy-engine/internal/nearest';
import type { z } from 'zod';
import type { DocumentProblem } from '../../errors.ts';
import { maxProblems } from './places.ts';
import type { FieldPath, YamlSource } from './yaml-source.ts';

type Issue = z.core.$ZodIssue;

/** A strict object whose complaint about an unknown key names the keys that there are. */
export function unknownKeyMessage(shape: Readonly<Record<string, unknown>>) {
  const allowed = Object.keys(shape)
    .map((key) => `\`${key}\``)
    .join(', ');
  return ({ code, keys }: { readonly code?: string | undefined; readonly keys?: unknown }): string | undefined => {
    if (code !== 'unrecognized_keys') return undefined;
    const [key, ...others]: readonly unknown[] = Array.isArray(keys) ? keys : [];
    const hint = typeof key === 'string' && others.length === 0 ? didYouMean(key, Object.keys(shape)) : '';
    return `is not known here; allowed: ${allowed}${hint}`;
  };
}

/** Issues of a schema, with their places in the file. */
export function schemaProblems(source: YamlSource, issues: readonly Issue[], base: FieldPath = []): DocumentProblem[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.slice(0, maxProblems).map((key) => source.problem([...path, key], issue.message, 'key'));
      case 'invalid_union':
        return schemaProblems(source, closestBranch(issue.errors), path);
      case 'invalid_type':
        return [source.problem(path, `must be ${describeType(issue.expected)}`)];
      case 'invalid_value':
        return [source.problem(path, `must be ${issue.values.map((value) => `\`${String(value)}\``).join(' or ')}`)];
      default:
        return [source.problem(path, issue.message)];
    }
  });
}

/** Of the forms that a value may have, the one whose outer shape it has. */
function closestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const sameShape = branches.find(
    (issues) => !issues.some((issue) => issue.path.length === 0 && issue.code === 'invalid_type'),
  );
  return sameShape ?? branches[0] ?? [];
}

const typeNames: Readonly<Record<string, string>> = {
  object: 'a mapping',
  record: 'a mapping',
  array: 'an array',
  string: 'a string (put it in quotes if it looks like a number)',
  number: 'a number',
  int: 'an integer',
  boolean: '`true` or `false`',
};

function describeType(expected: string): string {
  return typeNames[expected] ?? `of type ${expected}`;
}
