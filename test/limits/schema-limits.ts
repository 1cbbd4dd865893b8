import { z } from 'zod';

/* Every bound that a zod schema holds, as a value that is just accepted and one that is just refused. */

type Json = z.core.JSONSchema._JSONSchema;
type Schema = Exclude<Json, boolean>;
export type Place = readonly string[];

/** Sample string of a format: one number always gives the same string, another number another one. Where it matters, of this length. */
export type Sample = (index: number, length?: number) => unknown;

/** Samples by the place of the value, `*` for any index and any name: `domains.*`. */
export type Samples = Readonly<Record<string, Sample>>;

/** Side of a bound. */
export interface LimitCase {
  readonly place: Place;
  /** For people: `listen.port: at most 65535`. */
  readonly title: string;
  /** A whole value of the schema with the bound just kept. */
  readonly at: unknown;
  /** The same one step beyond. */
  readonly beyond: unknown;
}

const plain: Sample = (index, length = 1) => String(index).padStart(length, 'x').slice(-Math.max(1, length));

/** A case for every bound of the schema. Throws when the schema accepts no sample of some value: give one for that place. */
export function limitCases(schema: z.ZodType, samples: Samples = {}): LimitCase[] {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  return limitsOf(new Sampler(samples), json as Schema, [], (value) => value);
}

/** Makes values that a schema accepts. */
class Sampler {
  readonly #samples: Samples;

  constructor(samples: Samples) {
    this.#samples = samples;
  }

  of(json: Schema, place: Place, index = 0): unknown {
    const own = this.#samples[place.join('.')];
    if (own !== undefined) return own(index);
    if (json.anyOf !== undefined) return this.of(branches(json)[0] ?? {}, place, index);
    if (json.enum !== undefined) return json.enum[0];
    if (json.const !== undefined) return json.const;
    if (json.type === 'object') return this.#object(json, place);
    if (json.type === 'array') return this.items(json, place, json.minItems ?? 0);
    if (json.type === 'boolean') return false;
    if (json.type === 'integer' || json.type === 'number') return Math.max(0, json.minimum ?? 0);
    return this.text(place, json.minLength, index);
  }

  text(place: Place, length?: number, index = 0): unknown {
    const own = this.#samples[place.join('.')];
    return length === 0 && own === undefined ? '' : (own ?? plain)(index, length);
  }

  items({ items }: Schema, place: Place, count: number): unknown[] {
    const item = items === undefined || Array.isArray(items) || typeof items === 'boolean' ? {} : items;
    return Array.from({ length: count }, (_, index) => this.of(item, [...place, '*'], index));
  }

  #object(json: Schema, place: Place): Record<string, unknown> {
    const required = new Set(json.required ?? []);
    const given = Object.entries(json.properties ?? {}).filter(([name]) => required.has(name));
    return Object.fromEntries(given.map(([name, inner]) => [name, this.of(inner as Schema, [...place, name])]));
  }
}

/** The kinds that a value may be of, `null` aside. */
function branches(json: Schema): Schema[] {
  return (json.anyOf ?? [json]).filter(
    (branch): branch is Schema => typeof branch === 'object' && branch.type !== 'null',
  );
}

/** `wrap` puts a value of this place into a whole one. */
function limitsOf(sampler: Sampler, json: Schema, place: Place, wrap: (value: unknown) => unknown): LimitCase[] {
  return branches(json).flatMap((branch) => [
    ...ownLimits(sampler, branch, place).map(({ what, at, beyond }) => ({
      place,
      title: `${place.join('.') || 'the value'}: ${what}`,
      at: wrap(at),
      beyond: wrap(beyond),
    })),
    ...innerLimits(sampler, branch, place, wrap),
  ]);
}

function innerLimits(sampler: Sampler, json: Schema, place: Place, wrap: (value: unknown) => unknown): LimitCase[] {
  if (json.type === 'array' && typeof json.items === 'object' && !Array.isArray(json.items)) {
    const rest = sampler.items(json, place, json.minItems ?? 0).slice(1);
    return limitsOf(sampler, json.items, [...place, '*'], (value) => wrap([value, ...rest]));
  }
  if (json.type !== 'object') return [];
  const named = Object.entries(json.properties ?? {}).flatMap(([name, inner]) =>
    limitsOf(sampler, inner as Schema, [...place, name], (value) =>
      wrap({ ...(sampler.of(json, place) as object), [name]: value }),
    ),
  );
  const anyName = json.additionalProperties;
  if (typeof anyName !== 'object') return named;
  const key = String(sampler.of((json.propertyNames ?? {}) as Schema, [...place, '(name)']));
  return [
    ...named,
    ...limitsOf(sampler, (json.propertyNames ?? {}) as Schema, [...place, '(name)'], (name) =>
      wrap({ [String(name)]: sampler.of(anyName, [...place, '*']) }),
    ),
    ...limitsOf(sampler, anyName, [...place, '*'], (value) => wrap({ [key]: value })),
  ];
}

interface Limit {
  readonly what: string;
  readonly at: unknown;
  readonly beyond: unknown;
}

function ownLimits(sampler: Sampler, json: Schema, place: Place): Limit[] {
  const number = (value: number): number => value;
  const text = (length: number): unknown => sampler.text(place, length);
  const items = (count: number): unknown => sampler.items(json, place, count);
  return [
    ...limit('at least', json.minimum, -1, number),
    ...limit('at most', json.maximum, 1, number),
    ...limit('characters, at least', json.minLength, -1, text),
    ...limit('characters, at most', json.maxLength, 1, text),
    ...limit('items, at least', json.minItems, -1, items),
    ...limit('items, at most', json.maxItems, 1, items),
  ];
}

function limit(what: string, bound: number | undefined, step: 1 | -1, make: (size: number) => unknown): Limit[] {
  if (bound === undefined) return [];
  return [{ what: `${what} ${bound}`, at: make(bound), beyond: make(bound + step) }];
}
