import { foldAscii } from '@signet/policy-engine/names';
import type { Findings } from './findings.ts';

/** The short name of a part: without `catalog:role.`, which the plain output of zms-cli leaves out by itself. */
export function localName(findings: Findings, prefix: string, name: string, kind: string): string {
  if (foldAscii(name).startsWith(foldAscii(prefix))) return name.slice(prefix.length);
  const isFull = name.includes(':') || !prefix.includes(':');
  if (isFull) findings.problem([kind, name], `must begin with \`${prefix}\``);
  return name;
}
