/** Hand-coded for everything: the role's assertions in a row, each with a matcher made for its pattern. */
import type { Prepare } from '../engine.ts';
import type { Rule } from '../workload.ts';

type Matcher = (text: string) => boolean;

interface Entry {
  readonly allow: boolean;
  readonly action: Matcher;
  readonly resource: Matcher;
}

export const prepareHandScan: Prepare = async (rules) => {
  const exact = new Map<string, Entry[]>();
  const patterns = new Map<string, Entry[]>();
  for (const rule of rules) {
    const target = rule.role.includes('*') ? patterns : exact;
    const entries = target.get(rule.role) ?? [];
    entries.push(entryOf(rule));
    target.set(rule.role, entries);
  }
  const byPattern = [...patterns].map(([pattern, entries]) => ({ matches: matcherOf(pattern), entries }));
  return (names, action, resource) => {
    let allowed = false;
    for (const name of names) {
      const answer = scan(exact.get(name), action, resource);
      const found = answer === false ? false : scanPatterns(byPattern, name, action, resource);
      if (answer === false || found === false) return false;
      allowed ||= answer === true || found === true;
    }
    return allowed;
  };
};

interface PatternRole {
  readonly matches: Matcher;
  readonly entries: readonly Entry[];
}

function scanPatterns(
  patterns: readonly PatternRole[],
  name: string,
  action: string,
  resource: string,
): boolean | undefined {
  let answer: boolean | undefined;
  for (const { matches, entries } of patterns) {
    const found = matches(name) ? scan(entries, action, resource) : undefined;
    if (found === false) return false;
    answer ??= found;
  }
  return answer;
}

function entryOf({ effect, action, resource }: Rule): Entry {
  return { allow: effect === 'ALLOW', action: matcherOf(action), resource: matcherOf(resource) };
}

function scan(entries: readonly Entry[] | undefined, action: string, resource: string): boolean | undefined {
  if (entries === undefined) return undefined;
  let answer: boolean | undefined;
  for (const entry of entries) {
    if (!entry.action(action) || !entry.resource(resource)) continue;
    if (!entry.allow) return false;
    answer = true;
  }
  return answer;
}

function matcherOf(pattern: string): Matcher {
  const star = pattern.indexOf('*');
  if (star === -1) return (text) => text === pattern;
  if (star === pattern.length - 1) {
    const prefix = pattern.slice(0, -1);
    return (text) => text.startsWith(prefix);
  }
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  const inner = parts.slice(1, -1);
  return (text) =>
    text.startsWith(first) && text.endsWith(last) && holdsInOrder(text, inner, first.length, last.length);
}

function holdsInOrder(text: string, parts: readonly string[], from: number, tail: number): boolean {
  let at = from;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - tail;
}
