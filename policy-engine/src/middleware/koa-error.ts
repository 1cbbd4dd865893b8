import type { AnswerHeaders } from './authorize.ts';

/**
 * Rethrows an error from behind a Koa middleware so that its answer has the headers of that middleware: Koa takes all headers off the answer to
 * an error but those that the error has. A `Cache-Control` of the error stays.
 */
export function throwInKoa(error: unknown, headers: AnswerHeaders): never {
  // A frozen error cannot take headers.
  if (error instanceof Error) Reflect.set(error, 'headers', merged(Object(Reflect.get(error, 'headers')), headers));
  throw error;
}

function merged(own: object, { Vary, ...headers }: AnswerHeaders): object {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const missing = Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()));
  const [varyName = 'Vary', vary = ''] = Object.entries(own).find(([name]) => name.toLowerCase() === 'vary') ?? [];
  const fields = new Set([...fieldsOf(vary), ...fieldsOf(Vary)]);
  return { ...own, ...Object.fromEntries(missing), ...(fields.size > 0 && { [varyName]: [...fields].join(', ') }) };
}

function fieldsOf(vary: unknown): readonly string[] {
  return String(vary)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
