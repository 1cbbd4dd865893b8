import { type ConditionKey, conditionKeys } from '@signet/policy-engine/policy';
import type { WireConditions } from '@signet/policy-engine/wire';
import { z } from 'zod';
import type { FieldReader } from './field-reader.ts';
import { strict } from './strict.ts';
import type { FieldPath } from './yaml-source.ts';

/** Values, any of which will do; `*`: any value at all. */
const values = z
  .string()
  .max(1024, 'must have at most 1,024 characters')
  .regex(
    /^[^\s,\p{Cc}\p{Cf}\p{Cs}]+(?:,[^\s,\p{Cc}\p{Cf}\p{Cs}]+)*$/u,
    'must be one value, or several with commas and no blanks between them',
  )
  .optional();

const conditionSchema = strict({
  enforcementstate: values,
  instances: values,
  scopeall: values,
  scopeaws: values,
  scopeazure: values,
  scopegcp: values,
  scopeonprem: values,
} satisfies Record<ConditionKey, typeof values>);

/** Sets of conditions: a rule counts where all conditions of any one set hold. */
export const conditionsSchema = z.array(conditionSchema).min(1, 'must not be empty').max(64, 'must be at most 64 sets');

export type ConditionsShape = z.output<typeof conditionsSchema>;

/** As bundles carry them. A set without a condition is a problem: the rule would count everywhere. */
export function readConditions(reader: FieldReader, shape: ConditionsShape, path: FieldPath): WireConditions {
  return {
    conditionsList: shape.map((set, index) => {
      const conditions = conditionKeys.flatMap((key) => {
        const value = set[key];
        return value === undefined ? [] : [[key, { operator: 'EQUALS', value }] as const];
      });
      if (conditions.length === 0) reader.complain([...path, index], 'must have a condition');
      return { conditionsMap: Object.fromEntries(conditions) };
    }),
  };
}

/** The same the other way round; undefined for conditions that this form cannot say. */
export function conditionsShape({ conditionsList }: WireConditions): ConditionsShape | undefined {
  const isPlain = conditionsList.every(
    ({ id, conditionsMap }) =>
      id === undefined && Object.values(conditionsMap).every(({ operator }) => operator === 'EQUALS'),
  );
  if (!isPlain) return undefined;
  const shape = conditionsList.map(({ conditionsMap }) =>
    Object.fromEntries(Object.entries(conditionsMap).map(([key, { value }]) => [key, value])),
  );
  return conditionsSchema.safeParse(shape).data;
}
