import type { z } from 'zod';
import { InvalidRequestError } from '../../errors.ts';
import { FieldReader, TooManyProblems } from './field-reader.ts';
import { maxProblems } from './places.ts';
import { formatPath, type YamlSource } from './yaml-source.ts';
import { schemaProblems } from './zod-problems.ts';

/** A JSON value whose problems are named by their field: what a request carries instead of a file. */
function jsonSource(value: unknown): YamlSource {
  return {
    file: 'body',
    value,
    problem: (path, message) => ({ file: 'body', line: 1, column: 1, field: formatPath(path), message }),
  };
}

/**
 * Reads a part of a document that came as JSON, with the schema and the rules of documents. Throws `InvalidRequestError` that names
 * every field that is wrong, up to `maxProblems`.
 */
export function readPart<Shape, Part>(
  schema: z.ZodType<Shape>,
  value: unknown,
  read: (reader: FieldReader, shape: Shape) => Part | undefined,
): Part {
  const source = jsonSource(value);
  const shape = schema.safeParse(value);
  const problems = shape.success ? [] : [...schemaProblems(source, shape.error.issues)];
  if (shape.success) {
    const reader = new FieldReader(source, maxProblems);
    const part = unlessTooMany(() => read(reader, shape.data));
    if (part !== undefined && reader.problems.length === 0) return part;
    problems.push(...reader.problems);
  }
  const text = problems
    .slice(0, maxProblems)
    .map(({ field, message }) => (field === '' ? `the body ${message}` : `${field}: ${message}`));
  throw new InvalidRequestError(text.join('; '));
}

function unlessTooMany<Part>(read: () => Part): Part | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof TooManyProblems) return undefined;
    throw error;
  }
}
