import { readFileSync, statSync } from 'node:fs';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import type { z } from 'zod';
import { systemCode, UpdaterError } from '../updater-errors.ts';

const maxFileBytes = 1 << 20;

/** The mapping in a YAML file. Throws `UpdaterError('configuration')`. */
export function readMapping(file: string): Record<string, unknown> {
  let text: string;
  try {
    if (statSync(file).size > maxFileBytes)
      throw problem(`configuration \`${file}\` is larger than ${maxFileBytes} bytes`);
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof UpdaterError) throw cause;
    throw problem(`configuration \`${file}\` cannot be read (${systemCode(cause) ?? 'failed'})`, cause);
  }
  try {
    const content: unknown = parseYaml(text);
    if (typeof content === 'object' && content !== null && !Array.isArray(content)) return { ...content };
  } catch (cause) {
    if (!(cause instanceof YAMLParseError)) throw cause;
    throw problem(`configuration \`${file}\` is not YAML: line ${cause.linePos?.[0].line ?? '?'}`, cause);
  }
  throw problem(`configuration \`${file}\` must be a mapping of settings`);
}

/** Description of a configuration's errors with their place: one line. */
export function describeProblems(error: z.ZodError): string {
  return error.issues
    .flatMap(nearest)
    .map(({ path, message }) => `${path.join('.') || 'the file'}: ${plain(message)}`)
    .join('; ');
}

function plain(message: string): string {
  return message.endsWith(', received undefined') ? 'required' : message.replace(/^Invalid input: /, '');
}

type Issue = Pick<z.core.$ZodIssue, 'path' | 'message'>;

/** Issues of the alternative that the value comes closest to: the one of which only a part is wrong. */
function nearest(issue: z.core.$ZodIssue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.find((issues) => issues.some(({ path }) => path.length > 0));
  return meant?.map(({ path, message }) => ({ path: [...issue.path, ...path], message })) ?? [issue];
}

function problem(message: string, cause?: unknown): UpdaterError {
  return new UpdaterError('configuration', message, { cause });
}
