import { type ConditionKey, conditionKeys, conditionOperators, operatorRules } from '@signet/policy-engine/policy';
import type { WireConditions } from '@signet/policy-engine/wire';
import { z } from 'zod';
import type { FieldReader } from './field-reader.ts';
import { strict } from './strict.ts';
import type { FieldPath } from './yaml-source.ts';

const maxCharacters = 1024;
const valuesGrammar = /^[^\s,\p{Cc}\p{Cf}\p{Cs}]+(?:,[^\s,\p{Cc}\p{Cf}\p{Cs}]+)*$/u;
/** Values, any of which will do; `*`: any value at all. */
const values = z
  .string()
  .max(maxCharacters, 'must have at most 1,024 characters')
  .regex(valuesGrammar, 'must be one value, or several with commas and no blanks between them');
/** Values alone are those that the context's must equal. */
export const conditionSchema = z.union([values, strict({ operator: z.enum(conditionOperators), value: values })]);

const condition = conditionSchema.optional();

const setSchema = strict(
  Object.fromEntries(conditionKeys.map((key) => [key, condition])) as Record<ConditionKey, typeof condition>,
);

const maxSets = 64;
/** Sets of conditions: a rule counts where all conditions of any one set hold. */
export const conditionsSchema = z
  .array(setSchema)
  .min(1, 'must not be empty')
  .max(maxSets, `must be at most ${maxSets} sets`);

/** Fast path of most conditions: values alone. A plain set satisfies the schema too and is kept as it is, for a tenth of the cost. */
export function arePlainConditions(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= maxSets && value.every(isPlainSet);
}

const knownKeys: ReadonlySet<string> = new Set(conditionKeys);

function isPlainSet(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([key, values]) => knownKeys.has(key) && areValues(values));
}

function areValues(value: unknown): boolean {
  return typeof value === 'string' && value.length <= maxCharacters && valuesGrammar.test(value);
}

type ConditionsShape = z.output<typeof conditionsSchema>;

/** Conditions in the form of bundles. A set without a condition is a problem: the assertion would always apply. */
export function readConditions(reader: FieldReader, shape: ConditionsShape, path: FieldPath): WireConditions {
  return {
    conditionsList: shape.map((set, index) => {
      const conditions = conditionKeys.flatMap((key) => {
        const shape = set[key];
        if (shape === undefined) return [];
        const written = typeof shape === 'string' ? { operator: 'EQUALS' as const, value: shape } : shape;
        for (const value of written.value.split(',')) {
          const problem = operatorRules[written.operator].problem(value);
          if (problem !== undefined) reader.complain([...path, index, key, 'value'], `\`${value}\` ${problem}`);
        }
        return [[key, written] as const];
      });
      if (conditions.length === 0) reader.complain([...path, index], 'must have a condition');
      return { conditionsMap: Object.fromEntries(conditions) };
    }),
  };
}

/** The same the other way round; undefined for conditions that this form cannot say. */
export function conditionsShape({ conditionsList }: WireConditions): ConditionsShape | undefined {
  if (conditionsList.some(({ id }) => id !== undefined)) return undefined;
  const shape = conditionsList.map(({ conditionsMap }) =>
    Object.fromEntries(
      Object.entries(conditionsMap).map(([key, { operator, value }]) => [
        key,
        operator === 'EQUALS' ? value : { operator, value },
      ]),
    ),
  );
  return conditionsSchema.safeParse(shape).data;
}
