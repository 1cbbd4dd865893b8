import { type Steps, sliceLength } from '../../snapshot/steps.ts';

/** Text that is JSON already, as the audit log keeps it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What `JSON.stringify` answers for plain data, in slices: a list may have a hundred thousand items. */
export function* jsonInSteps(value: unknown): Steps<string> {
  if (value instanceof JsonText) return value.text;
  if (Array.isArray(value)) return yield* listInSteps(value);
  if (typeof value === 'object' && value !== null) return yield* objectInSteps(value);
  return JSON.stringify(value);
}

function* listInSteps(list: readonly unknown[]): Steps<string> {
  const parts: string[] = [];
  for (let at = 0; at < list.length; at += sliceLength) {
    const slice = list.slice(at, at + sliceLength);
    // Items of a long list are small, others may be lists themselves.
    if (list.length > sliceLength) parts.push(JSON.stringify(slice).slice(1, -1));
    else for (const item of slice) parts.push((yield* jsonInSteps(item)) ?? 'null');
    yield;
  }
  return `[${parts.join(',')}]`;
}

function* objectInSteps(value: object): Steps<string> {
  const parts: string[] = [];
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined) continue;
    parts.push(`${JSON.stringify(key)}:${yield* jsonInSteps(field)}`);
    yield;
  }
  return `{${parts.join(',')}}`;
}
