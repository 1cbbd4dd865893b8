import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** Direction of a schema: in requests some members are optional and folded. */
type Direction = 'input' | 'output';

/** A schema that stands once in the document. */
export interface Component {
  readonly output: string;
  /** Name of the input form, where that differs. */
  readonly input?: string;
  /** Stricter schema, of texts that are parsed after it. */
  readonly says?: z.ZodType;
}

export type Components = ReadonlyMap<unknown, Component>;

const safe = Number.MAX_SAFE_INTEGER;
const int32 = 2 ** 31 - 1;

/** Makes JSON Schema of schemas, with references to the components; each is converted once. */
export class JsonSchemas {
  readonly #components: Components;
  readonly #made = new Map<string, Map<z.ZodType, Json>>();
  readonly #referred = new Map<string, { readonly schema: z.ZodType; readonly io: Direction }>();

  constructor(components: Components) {
    this.#components = components;
  }

  /** Checks that stand beside a schema (references of documents, for one) are not in it. */
  of(schema: z.ZodType, io: Direction): Json {
    const name = this.#nameOf(schema, io);
    if (name === undefined) return this.#convert(schema, io);
    this.#refer(name, schema, io);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The components that were referred to, by themselves and by each other. */
  components(): Readonly<Record<string, Json>> {
    const schemas: Record<string, Json> = {};
    // Schemas that the conversion adds are visited as well: a map's iteration includes later entries.
    for (const [name, { schema, io }] of this.#referred) schemas[name] = this.#convert(schema, io);
    return Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #refer(name: string, schema: z.ZodType, io: Direction): void {
    this.#referred.set(name, { schema: this.#components.get(schema)?.says ?? schema, io });
  }

  #nameOf(schema: unknown, io: Direction): string | undefined {
    const component = this.#components.get(schema);
    return io === 'input' ? (component?.input ?? component?.output) : component?.output;
  }

  #convert(schema: z.ZodType, io: Direction): Json {
    const made = this.#made.get(io) ?? new Map<z.ZodType, Json>();
    this.#made.set(io, made);
    const known = made.get(schema);
    if (known !== undefined) return known;
    const { $schema: _, ...plain } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        const isWhole = zodSchema._zod === schema._zod;
        const name = isWhole ? undefined : this.#nameOf(zodSchema, io);
        if (name === undefined) {
          tidy(jsonSchema);
          return;
        }
        if (zodSchema instanceof z.ZodType) this.#refer(name, zodSchema, io);
        for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key);
        jsonSchema.$ref = `#/components/schemas/${name}`;
      },
    });
    made.set(schema, plain);
    return plain;
  }
}

/** Integers say how wide they are, and no bounds that are only those of JavaScript; a format says more than its pattern. */
function tidy(json: z.core.JSONSchema.BaseSchema): void {
  if (json.type === 'integer') {
    if (json.minimum === -safe) Reflect.deleteProperty(json, 'minimum');
    if (json.maximum === safe) Reflect.deleteProperty(json, 'maximum');
    const isNarrow = (json.minimum ?? -safe) >= -int32 && (json.maximum ?? safe) <= int32;
    json.format = isNarrow ? 'int32' : 'int64';
  }
  if (json.format === 'date-time') Reflect.deleteProperty(json, 'pattern');
  if (json.type === 'string' && json.format === '') Reflect.deleteProperty(json, 'format');
}
