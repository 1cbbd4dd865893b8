import { foldAscii } from '@signet/policy-engine/names';
import type { FieldPath } from '../documents/yaml-source.ts';
import type { Findings } from './findings.ts';

/** The short name of a part: without `catalog:role.`, which the plain output of zms-cli leaves out by itself. */
export function localName(findings: Findings, prefix: string, name: string, kind: string): string {
  if (foldAscii(name).startsWith(foldAscii(prefix))) return name.slice(prefix.length);
  const isFull = name.includes(':') || !prefix.includes(':');
  if (isFull) findings.problem([kind, name], `must begin with \`${prefix}\``);
  return name;
}

/** An object of names and values. A name that objects have for themselves is a problem: documents cannot hold it. */
export function mappingOf<Value>(
  findings: Findings,
  path: FieldPath,
  entries: Iterable<readonly [name: string, value: Value]>,
): Record<string, Value> {
  const list = [...entries];
  for (const [name] of list) {
    if (name === '__proto__') findings.problem([...path, name], '`__proto__` is not allowed as a name');
  }
  return Object.fromEntries(list);
}
