import { shortText } from '../../base/short-text.ts';
import { InvalidRequestError } from '../../errors.ts';
import { exportAgain } from './export-form.ts';
import { knownMembers } from './left-over.ts';

/*
 * `zms-cli -o yaml` writes structures of Go: names of members in lower case, and enumerations as numbers. Unrestored they would pass for
 * members that are not imported, and their roles for empty ones.
 */

const names: ReadonlyMap<string, string> = new Map(
  [...knownMembers, 'conditionsList', 'conditionsMap'].map((name) => [name.toLowerCase(), name]),
);

/** Texts of numbers, as the enumerations of ZMS's client count from 1. */
const enumerations: Readonly<Record<string, readonly string[]>> = { effect: ['ALLOW', 'DENY'], operator: ['EQUALS'] };

/** Objects whose members have names of their users. */
const free: ReadonlySet<string> = new Set(['tags', 'entities']);

/**
 * The same value with the names of members as ZMS has them in JSON. Throws `InvalidRequestError` for one that differs from them in case:
 * what it holds must not be lost.
 */
export function restoreMembers(value: unknown, isYaml: boolean): unknown {
  return restored(value, isYaml, false);
}

function restored(value: unknown, isYaml: boolean, hasFreeNames: boolean): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => restored(item, isYaml, false));
  if (typeof value !== 'object' || value === null) return value;
  const found = new Map<string, unknown>();
  for (const [given, content] of Object.entries(value)) {
    const name = hasFreeNames ? given : nameOf(given, isYaml);
    if (found.has(name)) throw new InvalidRequestError(`\`${shortText(name)}\` is there twice: ${exportAgain}`);
    const text = isYaml && typeof content === 'number' ? enumerations[name]?.[content - 1] : undefined;
    found.set(name, text ?? (free.has(name) ? content : restored(content, isYaml, name === 'conditionsMap')));
  }
  return Object.fromEntries(found);
}

function nameOf(given: string, isYaml: boolean): string {
  const own = names.get(given.toLowerCase()) ?? given;
  if (own === given || (isYaml && given === own.toLowerCase())) return own;
  throw new InvalidRequestError(`\`${given}\`: must be \`${own}\`: ${exportAgain}`);
}
