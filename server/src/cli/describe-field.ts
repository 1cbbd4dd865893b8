import { escapeControls } from '../base/terminal-text.ts';
import type { FieldChange } from '../management/field-changes.ts';

/** `description: none -> "May watch"` on one line: a value is as it is where it is one word. */
export function describeField({ field, before, after }: FieldChange, isNew = false): string {
  const was = isNew ? [] : [quoted(before), '->'];
  return `${field}: ${[...was, quoted(after)].join(' ')}`;
}

function quoted(value: string | undefined): string {
  if (value === undefined) return 'none';
  return /^[\w.:/+-]+$/.test(value) ? value : escapeControls(JSON.stringify(value));
}
