import { definedOnly } from '../../management/documents/defined-only.ts';

/* Option descriptions from the JSON Schemas in `schemas/`, for people. */

/** Part of JSON Schema that the schemas of Signet's configurations use. */
export interface OptionSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly const?: unknown;
  readonly anyOf?: readonly OptionSchema[];
  readonly items?: OptionSchema;
  readonly properties?: Readonly<Record<string, OptionSchema>>;
  readonly required?: readonly string[];
  readonly 'x-since'?: string;
  readonly 'x-unit'?: string;
  readonly 'x-absent'?: string;
  readonly 'x-environment'?: string;
}

/** An option, or a section of options. */
export interface OptionDescription {
  /** Dotted name; `[]` stands for an item of a list: `certificates.issuers[].state`. */
  readonly option: string;
  readonly meaning: string;
  readonly isSection: boolean;
  readonly type: string;
  readonly isRequired: boolean;
  /** Values as a person writes them. */
  readonly default?: string;
  /** Fallback without a value and without a default of its own, in words. */
  readonly absent?: string;
  readonly unit?: string;
  readonly example?: string;
  readonly environment?: string;
  readonly since?: string;
}

/** Every section and option, each section before what it holds. */
export function describeOptions(schema: OptionSchema, prefix = ''): OptionDescription[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const option = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) === true;
    const below = inner.type === 'array' ? describeItems(inner, option) : describeOptions(inner, `${option}.`);
    return [describe(inner, option, isRequired), ...below];
  });
}

function describeItems({ items }: OptionSchema, option: string): OptionDescription[] {
  return items?.properties === undefined ? [] : describeOptions(items, `${option}[].`);
}

function describe(schema: OptionSchema, option: string, isRequired: boolean): OptionDescription {
  const meaning = schema.description ?? '';
  if (schema.properties !== undefined) return { option, meaning, isSection: true, type: 'section', isRequired };
  return {
    option,
    meaning,
    isSection: false,
    type: typeOf(schema),
    isRequired,
    ...definedOnly({
      default: yamlOf(schema.default),
      absent: schema['x-absent'],
      unit: schema['x-unit'] ?? unitOf(option),
      example: yamlOf(schema.examples?.[0]),
      environment: schema['x-environment'],
      since: schema['x-since'],
    }),
  };
}

/** Strings as they are, others as YAML takes them on one line. */
function yamlOf(value: unknown): string | undefined {
  return typeof value === 'string' || value === undefined ? value : JSON.stringify(value);
}

function unitOf(option: string): string | undefined {
  if (option.endsWith('Seconds')) return 'seconds';
  if (option.endsWith('Ms')) return 'milliseconds';
  return option.endsWith('Bytes') ? 'bytes' : undefined;
}

function typeOf(schema: OptionSchema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(', or ');
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.enum !== undefined) return `one of ${schema.enum.map(String).join(', ')}`;
  if (schema.type === 'integer' || schema.type === 'number') return `${schema.type}${rangeOf(schema)}`;
  if (schema.type === 'object') return 'map of strings';
  if (schema.type !== 'array') return schema.type ?? 'string';
  const { items, maxItems } = schema;
  const most = maxItems === undefined ? '' : `, at most ${maxItems}`;
  if (items?.properties !== undefined) return `list of sections${most}`;
  return `list of ${items?.enum === undefined ? 'strings' : items.enum.map(String).join(', ')}${most}`;
}

function rangeOf({ minimum, maximum }: OptionSchema): string {
  if (minimum === undefined) return maximum === undefined ? '' : `, at most ${maximum}`;
  return maximum === undefined ? `, at least ${minimum}` : `, ${minimum} to ${maximum}`;
}
