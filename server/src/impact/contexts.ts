import { foldAscii } from '@signet/policy-engine/names';
import { type ConditionKey, conditionKeys, type DecisionContext } from '@signet/policy-engine/policy';
import type { WireConditions } from '@signet/policy-engine/wire';
import { PatternsTooComplexError } from './atoms.ts';
import type { Rule } from './rule-difference.ts';

/** Values of one condition key: one of them, all but some, or `null` where the host gives none. */
export type ValueSet = { readonly is: string } | { readonly isNot: readonly string[] } | null;

/** What hosts say of themselves, as far as conditions tell them apart. */
export type ContextSet = Readonly<Partial<Record<ConditionKey, ValueSet>>>;

/** Hosts for which the same rules count. */
export interface ContextClass {
  readonly set: ContextSet;
  /** One of them. */
  readonly example: DecisionContext;
}

interface Condition {
  readonly key: ConditionKey;
  readonly values: readonly string[];
}

/** A rule counts when all conditions of any one list hold. */
export type Conditions = readonly (readonly Condition[])[];

/** A rule that may count on some hosts only. */
export interface ConditionalRule extends Rule {
  readonly conditions?: Conditions;
}

/** The conditions of an assertion as the engine takes them; undefined when it counts everywhere. */
export function parseConditions(wire: WireConditions | undefined): Conditions | undefined {
  const sets = (wire?.conditionsList ?? []).map(({ conditionsMap }) =>
    Object.entries(conditionsMap).map(([name, { value }]) => ({
      key: conditionKeys.find((known) => known === foldAscii(name)),
      values: foldAscii(value)
        .split(',')
        .map((part) => part.trim()),
    })),
  );
  const known = sets.map((set) => set.flatMap(({ key, values }) => (key === undefined ? [] : [{ key, values }])));
  const isUnknown = sets.some((set, index) => set.length !== known[index]?.length);
  // What the engine cannot evaluate denies everywhere, and never gets as far as to allow.
  return isUnknown || known.length === 0 || known.some((set) => set.length === 0) ? undefined : known;
}

const maxClasses = 256;

/** Cuts the contexts of all hosts into classes; a single one when no rule has conditions. Throws `PatternsTooComplexError`. */
export function contextClasses(rules: readonly ConditionalRule[]): readonly ContextClass[] {
  const named = new Map<ConditionKey, Set<string>>();
  for (const { key, values } of rules.flatMap(({ conditions = [] }) => conditions.flat())) {
    const known = named.get(key) ?? new Set();
    for (const value of values) if (value !== '*') known.add(value);
    named.set(key, known);
  }
  let classes: ContextClass[] = [{ set: {}, example: {} }];
  for (const [key, values] of [...named].sort()) {
    const parts = partsOf([...values].sort());
    if (classes.length * parts.length > maxClasses) throw new PatternsTooComplexError('too many conditions');
    classes = classes.flatMap(({ set, example }) =>
      parts.map((part) => ({
        set: { ...set, [key]: part.set },
        example: part.example === undefined ? example : { ...example, [key]: part.example },
      })),
    );
  }
  return classes;
}

function partsOf(values: readonly string[]): { readonly set: ValueSet; readonly example?: string }[] {
  let other = 'other';
  while (values.includes(other)) other += '-one';
  const named = values.map((value) => ({ set: { is: value }, example: value }));
  return [{ set: null }, ...named, { set: { isNot: values }, example: other }];
}

/** The rules that count on a host that says this of itself; what it does not say lets no rule allow, and every rule deny. */
export function rulesInContext(rules: readonly ConditionalRule[], context: DecisionContext): readonly Rule[] {
  return rules.filter(({ conditions, effect }) => {
    const holds = ({ key, values }: Condition) => {
      const value = context[key];
      return value === undefined ? effect === 'DENY' : values.includes('*') || values.includes(value);
    };
    return conditions === undefined || conditions.some((set) => set.every(holds));
  });
}
