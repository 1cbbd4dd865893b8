import type { z } from 'zod';
import { type DocumentProblem, InvalidRequestError } from '../../errors.ts';
import { FieldReader, TooManyProblems } from './field-reader.ts';
import { maxProblems } from './places.ts';
import { formatPath, type YamlSource } from './yaml-source.ts';
import { schemaProblems } from './zod-problems.ts';

/** A JSON value whose problems are named by their field: what a request carries instead of a file. */
export function jsonSource(value: unknown, file = 'body'): YamlSource {
  return { file, value, problem: (path, message) => ({ file, line: 1, column: 1, field: formatPath(path), message }) };
}

/** The body of a request that has its form. */
export interface Body<Shape> {
  readonly shape: Shape;
  /** Reads it by the rules of documents. Throws `InvalidRequestError` as `parseBody` does. */
  read<Part>(read: (reader: FieldReader, shape: Shape) => Part | undefined): Part;
}

/**
 * Parses a part of a document that came as JSON with the schema of documents. Throws `InvalidRequestError` that names every field that is
 * wrong, up to `maxProblems`.
 */
export function parseBody<Shape>(schema: z.ZodType<Shape>, value: unknown): Body<Shape> {
  const source = jsonSource(value);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw problemsIn(schemaProblems(source, parsed.error.issues));
  const shape = parsed.data;
  return {
    shape,
    read: (read) => {
      const reader = new FieldReader(source, maxProblems);
      const part = unlessTooMany(() => read(reader, shape));
      if (part !== undefined && reader.problems.length === 0) return part;
      throw problemsIn(reader.problems);
    },
  };
}

function problemsIn(problems: Iterable<DocumentProblem>): InvalidRequestError {
  const text = [...problems]
    .slice(0, maxProblems)
    .map(({ field, message }) => (field === '' ? `the body ${message}` : `${field}: ${message}`));
  return new InvalidRequestError(text.join('; '));
}

function unlessTooMany<Part>(read: () => Part): Part | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof TooManyProblems) return undefined;
    throw error;
  }
}
