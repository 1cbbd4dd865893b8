import { escapeControlsOfLines } from '../base/terminal-text.ts';

/** Text of HTML. Made by `html` only, so that every value in it was escaped. */
class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type Html = Markup;

/** A value in a template: text is escaped, lists are joined, `undefined` and `false` are empty. */
export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Template of HTML. A value stands between tags or in a quoted attribute; invisible characters and changes of writing direction are shown in
 * the notation of JSON, as on a terminal.
 */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Markup(parts.map((part, at) => `${part}${textOf(values[at])}`).join(''));
}

function textOf(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Markup) return value.toString();
  if (typeof value === 'object') return value.map(textOf).join('');
  return escapeControlsOfLines(String(value)).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
