import { foldAscii } from '../names/index.ts';
import type { WireConditions } from '../wire/index.ts';

/** What a service says of itself for assertions with conditions: condition key to value, e.g. `instances` to its host name. */
export type DecisionContext = Readonly<Partial<Record<ConditionKey, string>>>;

/** The condition keys that are evaluated. Each has the operator `EQUALS`. */
export const conditionKeys = [
  'enforcementstate',
  'instances',
  'scopeall',
  'scopeaws',
  'scopeazure',
  'scopegcp',
  'scopeonprem',
] as const;
/** A name that a condition may ask for. */
export type ConditionKey = (typeof conditionKeys)[number];

/** One condition: the context's value of `key` must be one of `values`; `*` among them stands for any. */
interface Condition {
  readonly key: ConditionKey;
  readonly values: readonly string[];
}

/** Conditions of an assertion: it counts when all conditions of any one set hold. */
export type Conditions = readonly (readonly Condition[])[];

/** `unknown`: at least one condition is one that this version cannot evaluate. */
export type CompiledConditions = { kind: 'none' } | { kind: 'known'; sets: Conditions } | { kind: 'unknown' };

/** Takes the conditions of an assertion apart. An empty list of sets is not a condition; an empty set always holds. */
export function compileConditions(wire: WireConditions | undefined): CompiledConditions {
  if (wire === undefined) return { kind: 'none' };
  // What is not a list of conditions, from a caller without types, is a condition that nobody can evaluate.
  if (!Array.isArray(wire?.conditionsList)) return { kind: 'unknown' };
  if (wire.conditionsList.length === 0) return { kind: 'none' };
  const sets: (readonly Condition[])[] = [];
  for (const entry of wire.conditionsList) {
    const set = isMap(entry?.conditionsMap) ? compileSet(entry.conditionsMap) : undefined;
    if (set === undefined) return { kind: 'unknown' };
    if (set.length === 0) return { kind: 'none' };
    sets.push(set);
  }
  return { kind: 'known', sets };
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((one) => isCondition(one));
}

function isCondition(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'operator' in value && typeof value.operator === 'string' && 'value' in value && typeof value.value === 'string'
  );
}

function compileSet(map: Readonly<Record<string, { operator: string; value: string }>>): Condition[] | undefined {
  const set: Condition[] = [];
  for (const [name, { operator, value }] of Object.entries(map)) {
    const key = conditionKeys.find((known) => known === foldAscii(name));
    if (key === undefined || foldAscii(operator) !== 'equals') return undefined;
    set.push({
      key,
      values: foldAscii(value)
        .split(',')
        .map((part) => part.trim()),
    });
  }
  return set;
}

/** The context as conditions compare it: what they may ask for, folded once for all of them. What is not a string is left out. */
export function foldContext(context: DecisionContext | undefined): DecisionContext | undefined {
  if (context === undefined || context === null) return undefined;
  const folded: Partial<Record<ConditionKey, string>> = {};
  for (const key of conditionKeys) {
    const value: unknown = context[key];
    if (typeof value === 'string') folded[key] = foldAscii(value);
  }
  return folded;
}

/**
 * Whether the conditions hold in the context (of `foldContext`). A value that the context does not have fits nothing; `missing` is what a
 * condition on it then counts as: false for an ALLOW, true for a DENY, so that silence never widens access.
 */
export function conditionsHold(sets: Conditions, context: DecisionContext | undefined, missing: boolean): boolean {
  return sets.some((set) => set.every((condition) => conditionHolds(condition, context, missing)));
}

function conditionHolds(condition: Condition, context: DecisionContext | undefined, missing: boolean): boolean {
  const value = context?.[condition.key];
  if (value === undefined) return missing;
  return condition.values.includes('*') || condition.values.includes(value);
}
