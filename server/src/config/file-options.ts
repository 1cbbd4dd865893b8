import { z } from 'zod';
import { configSchema } from './config-schema.ts';
import { pathOptions } from './options/about.ts';

/** An option that names a file, as it is written. */
interface FileOption {
  /** Place in the configuration, e.g. `['certificates', 'issuers', 0, 'key']`. */
  readonly at: readonly (string | number)[];
  /** The path, relative to the configuration. */
  readonly value: string;
}

/** Every option of a configuration that names a file, the folder of the store apart; `written` is what stands in the file, checked. */
export function fileOptionsOf(written: unknown): FileOption[] {
  return optionsBelow(configSchema, written, []).filter(({ at }) => at.join('.') !== 'dataDir');
}

function optionsBelow(schema: z.ZodType, value: unknown, at: FileOption['at']): FileOption[] {
  const plain = unwrapped(schema);
  if (plain instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((each, index) => optionsBelow(plain.element as z.ZodType, each, [...at, index]));
  }
  if (plain instanceof z.ZodObject && typeof value === 'object' && value !== null) {
    const shape: Record<string, z.ZodType> = plain.shape;
    return Object.entries(value).flatMap(([name, each]) => {
      const below = shape[name];
      return below === undefined ? [] : optionsBelow(below, each, [...at, name]);
    });
  }
  return typeof value === 'string' && pathOptions.get(plain) !== undefined ? [{ at, value }] : [];
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
