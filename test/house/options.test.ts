import { configSchema } from '@signet/server/config/config-schema';
import { configSchema as updaterSchema } from '@signet/updater/config/config';
import test from 'ava';
import { z } from 'zod';

/* An option says of itself what it means: the reference, `signet config explain` and the JSON Schemas have it from there. */

interface Facts {
  readonly description?: unknown;
  readonly examples?: readonly unknown[];
  readonly since?: unknown;
  readonly unit?: unknown;
}

/** Options without a description in an object, with their places. */
function gaps(schema: z.ZodType, place: string): string[] {
  const facts: Facts = schema.meta() ?? {};
  const isMeaning = typeof facts.description === 'string' && /^[`A-Z0-9].*\.$/.test(facts.description);
  const missing = [...(isMeaning ? [] : ['a meaning']), ...(isSection(schema) ? [] : optionGaps(schema, place, facts))];
  const inside = optionsOf(schema).flatMap(([name, option]) => gaps(option, place === '' ? name : `${place}.${name}`));
  return [...missing.map((what) => `${place}: ${what}`), ...inside];
}

function optionGaps(schema: z.ZodType, place: string, { examples, since, unit }: Facts): string[] {
  const isAccepted = examples?.length === 1 && schema.safeParse(examples[0]).success;
  const fallback = schema.safeParse(undefined).data;
  const isDefault = fallback !== undefined && JSON.stringify(fallback) === JSON.stringify(examples?.[0]);
  const needsUnit = isNumber(schema) && !/(?:Seconds|Ms|Bytes|port)$|^management\.quotas/.test(place);
  return [
    ...(since === '0.1' || since === '0.2' ? [] : ['since']),
    ...(isAccepted ? [] : ['an example that it accepts']),
    ...(isDefault ? ['an example that is not the default'] : []),
    ...(needsUnit && unit === undefined ? ['a unit'] : []),
  ];
}

function inner(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return inner(schema.unwrap() as z.ZodType);
  }
  return schema;
}

function isSection(schema: z.ZodType): boolean {
  return inner(schema) instanceof z.ZodObject;
}

function isNumber(schema: z.ZodType): boolean {
  return inner(schema) instanceof z.ZodNumber;
}

/** Options of an object, and of the objects of a list. */
function optionsOf(schema: z.ZodType): [string, z.ZodType][] {
  const plain = inner(schema);
  if (plain instanceof z.ZodArray) return optionsOf(plain.element as z.ZodType);
  return plain instanceof z.ZodObject ? Object.entries(plain.shape as Record<string, z.ZodType>) : [];
}

test('every option of the server says its meaning, an example that it accepts, its unit and since when', (t) => {
  t.deepEqual(gaps(configSchema, ''), []);
});

test('every option of the updater says its meaning, an example that it accepts, its unit and since when', (t) => {
  t.deepEqual(
    optionsOf(updaterSchema).flatMap(([name, option]) => gaps(option, name)),
    [],
  );
});

test('an option that says nothing, or gives a wrong example, is found', (t) => {
  const port = z.int().max(9);
  const said = { description: 'Port.', examples: [8], since: '0.1' };
  const schema = z.strictObject({
    silent: z.string(),
    list: z.array(z.strictObject({ port: port.meta({ ...said, examples: [10] }) })).meta({ ...said, examples: [[]] }),
    count: port.meta(said),
    port: port.default(8).meta(said),
  });
  t.deepEqual(
    optionsOf(schema).flatMap(([name, option]) => gaps(option, name)),
    [
      'silent: a meaning',
      'silent: since',
      'silent: an example that it accepts',
      'list.port: an example that it accepts',
      'count: a unit',
      'port: an example that is not the default',
    ],
  );
});
