import { z } from 'zod';
import { maxProblems } from './places.ts';
import { unknownKeyMessage } from './zod-problems.ts';

/** An object without other keys than these; what else there is is named, with what may be there. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, { error: unknownKeyMessage(shape) });
}

/**
 * The array `schema`, whose check ends with the `maxProblems`th item that is wrong: a body may hold a hundred thousand, and each problem
 * costs more than the item. Items that `isRight` accepts are not looked at by their schema.
 */
export function list<Item extends z.ZodType>(
  schema: z.ZodArray<Item>,
  isRight: (value: unknown) => boolean = () => false,
): z.ZodArray<Item> {
  const { element } = schema;
  const check: (typeof schema)['_zod']['parse'] = (payload, context) => {
    const { value: input } = payload;
    if (!Array.isArray(input)) {
      payload.issues.push({ code: 'invalid_type', expected: 'array', input, inst: schema });
      return payload;
    }
    const output: z.output<Item>[] = [];
    for (const value of input) {
      if (isRight(value)) {
        output.push(value as z.output<Item>);
        continue;
      }
      const result = atOnce(element._zod.run({ value, issues: [] }, context));
      if (result.issues.length > 0) payload.issues.push(...z.core.util.prefixIssues(output.length, result.issues));
      if (payload.issues.length >= maxProblems) break;
      output.push(result.value as z.output<Item>);
    }
    payload.value = output;
    return payload;
  };
  return replaceCheck(schema, check);
}

/** An object of names and values, whose check ends as that of `list` does. It keeps `__proto__`, which `z.record` leaves out. */
export function mapping<Item extends z.ZodType>(item: Item): z.ZodRecord<z.ZodString, Item> {
  const schema = z.record(z.string(), item);
  const check: (typeof schema)['_zod']['parse'] = (payload, context) => {
    const { value: input } = payload;
    if (!z.core.util.isPlainObject(input)) {
      payload.issues.push({ code: 'invalid_type', expected: 'record', input, inst: schema });
      return payload;
    }
    const output: [string, z.output<Item>][] = [];
    for (const [name, value] of Object.entries(input)) {
      const result = atOnce(item._zod.run({ value, issues: [] }, context));
      if (result.issues.length > 0) payload.issues.push(...z.core.util.prefixIssues(name, result.issues));
      if (payload.issues.length >= maxProblems) break;
      output.push([name, result.value as z.output<Item>]);
    }
    payload.value = Object.fromEntries(output);
    return payload;
  };
  return replaceCheck(schema, check);
}

function replaceCheck<Schema extends z.ZodType>(schema: Schema, check: Schema['_zod']['parse']): Schema {
  // A schema without checks of its own, such as a minimum, is run by its parser itself.
  if (schema._zod.run === schema._zod.parse) schema._zod.run = check;
  schema._zod.parse = check;
  return schema;
}

function atOnce<Result>(result: Result | Promise<Result>): Result {
  if (result instanceof Promise) throw new TypeError('schemas of items must not be asynchronous');
  return result;
}
