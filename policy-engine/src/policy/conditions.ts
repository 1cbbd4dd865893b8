import { foldAscii } from '../names/index.ts';
import type { Effect, WireConditions } from '../wire/index.ts';
import {
  type ConditionOperator,
  ContextValue,
  conditionOperators,
  operatorRules,
  type ValueTest,
} from './condition-operators.ts';

/** Values of the service for assertions with conditions: condition key to value, e.g. `instances` to its host name. */
export type DecisionContext = Readonly<Partial<Record<ConditionKey, string>>>;

/** The condition keys that are evaluated. */
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

/** Condition: the value of `key` in the context must pass the test. */
export interface Condition {
  readonly key: ConditionKey;
  readonly operator: ConditionOperator;
  /** Folded. */
  readonly values: readonly string[];
  readonly test: ValueTest;
}

/**
 * Conditions of an assertion, made ready. `none`: it counts everywhere. `known`: it counts where all conditions of any one set hold.
 * `unknown`: at least one condition is one that this version cannot evaluate.
 */
export type CompiledConditions =
  | { readonly kind: 'none' }
  | { readonly kind: 'known'; readonly sets: readonly (readonly Condition[])[] }
  | { readonly kind: 'unknown' };

/** A context as conditions compare it, of `foldContext`. */
export type FoldedContext = Readonly<Partial<Record<ConditionKey, ContextValue>>>;

const none: CompiledConditions = { kind: 'none' };
const unknown: CompiledConditions = { kind: 'unknown' };

/** Makes the conditions of an assertion ready. An empty list of sets is not a condition; an empty set always holds, if all are known. */
export function compileConditions(wire: WireConditions | undefined): CompiledConditions {
  if (wire === undefined) return none;
  if (!areConditions(wire)) return unknown;
  const sets: (readonly Condition[])[] = [];
  for (const { conditionsMap } of wire.conditionsList) {
    const set = compileSet(conditionsMap);
    if (set === undefined) return unknown;
    sets.push(set);
  }
  return sets.length === 0 || sets.some((set) => set.length === 0) ? none : { kind: 'known', sets };
}

/** True if a value from a caller without types has the shape of conditions. */
export function areConditions(value: unknown): boolean {
  const list = (value as Partial<WireConditions> | null)?.conditionsList;
  return Array.isArray(list) && list.every((entry) => isMap(entry?.conditionsMap));
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
    const condition = key && compileCondition(key, operator, value);
    if (condition === undefined) return undefined;
    set.push(condition);
  }
  return set;
}

/** Compiles a condition; `value` may be several with commas. Undefined for a key or an operator that this version does not know. */
function compileCondition(key: ConditionKey, operatorName: string, value: string): Condition | undefined {
  const folded = foldAscii(operatorName);
  const operator = conditionOperators.find((known) => foldAscii(known) === folded);
  if (operator === undefined) return undefined;
  const values = foldAscii(value)
    .split(',')
    .map((part) => part.trim());
  const rule = operatorRules[operator];
  if (values.some((part) => rule.problem(part) !== undefined)) return undefined;
  return { key, operator, values, test: rule.compile(values) };
}

/** Upper bound of the cost of evaluating the conditions, in units of `Work`. */
export function costOfConditions(conditions: CompiledConditions): number {
  if (conditions.kind !== 'known') return 0;
  return conditions.sets.reduce((sum, set) => set.reduce((cost, { test }) => cost + test.cost, sum + 1), 0);
}

/** The context as conditions compare it: what they may ask for, folded once for all of them. What is not a string is left out. */
export function foldContext(context: DecisionContext | undefined): FoldedContext | undefined {
  if (context === undefined || context === null) return undefined;
  const folded: Partial<Record<ConditionKey, ContextValue>> = {};
  for (const key of conditionKeys) {
    const value: unknown = context[key];
    if (typeof value === 'string') folded[key] = new ContextValue(foldAscii(value));
  }
  return folded;
}

/**
 * True if an assertion of this effect applies in the context (of `foldContext`). If that is unknown, as the condition is unknown, or the value
 * missing or not of the operator's kind, an ALLOW does not apply and a DENY does: silence never widens access.
 */
export function conditionsCount(
  conditions: CompiledConditions,
  effect: Effect,
  context: FoldedContext | undefined,
): boolean {
  switch (conditions.kind) {
    case 'none':
      return true;
    case 'unknown':
      return effect === 'DENY';
    case 'known':
      return conditions.sets.some((set) => set.every((condition) => conditionHolds(condition, effect, context)));
  }
}

function conditionHolds({ key, test }: Condition, effect: Effect, context: FoldedContext | undefined): boolean {
  const value = context?.[key];
  return (value && test.holds(value)) ?? effect === 'DENY';
}
