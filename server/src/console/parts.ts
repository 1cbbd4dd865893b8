import { parseTimestamp } from '@signet/policy-engine/clock';
import { ApiRefusedError } from './api.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { pathTo } from './page.ts';

/* Parts that pages are made of. */

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain';

/** A state in words, with a color that says nothing more. */
export function badge(text: string, tone: Tone = 'plain'): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

type Parameters = Readonly<Record<string, string | undefined>>;

export function link(page: string, params: Parameters, text: HtmlValue): Html {
  return html`<a href="${pathTo(page, params)}">${text}</a>`;
}

/** Characters of a name that stay on one line. */
const unbroken = 20;
const piece = new RegExp(`[^.:/-]{1,${unbroken}}[.:/-]*|[.:/-]+`, 'gu');

/** A name or another text of programs; it may break behind its separators and wherever it is too long for a line. */
export function code(text: string | number): Html {
  const all = String(text);
  const pieces = all.length > unbroken ? (all.match(piece) ?? []) : [all];
  return html`<code>${pieces.map((part, at) => (at === 0 ? part : html`<wbr>${part}`))}</code>`;
}

/** A message of the server, with what it has in backticks as names. */
export function message(text: string): Html {
  const parts = text.split('`');
  if (parts.length % 2 === 0) return html`${text}`;
  return html`${parts.map((part, at) => (at % 2 === 0 ? part : code(part)))}`;
}

/** A principal, a role or a group as it is named in lists, linked to its page; a wildcard as it is. */
export function nameLink(name: string): Html {
  if (/:(?:role|group)\./.test(name)) return link('role', { name }, code(name));
  if (name.includes('*') || !name.includes('.')) return code(name);
  return link('principal', { name }, code(name));
}

interface Table {
  readonly caption: string;
  readonly columns: readonly string[];
  /** Cells of each row. The first one heads it; a column without a name holds what can be done. */
  readonly rows: readonly (readonly HtmlValue[])[];
  /** Text in place of a table without rows. */
  readonly empty: string;
}

/** A table; on a narrow screen each row is a card, whose cells have their columns beside them. */
export function table({ caption, columns, rows, empty }: Table): Html {
  if (rows.length === 0) return quiet(empty);
  const used = columns.map((_, at) => rows.some((row) => hasContent(row[at])));
  const cell = (value: HtmlValue, at: number) => {
    if (used[at] !== true) return undefined;
    if (at === 0) return html`<th scope="row">${value}</th>`;
    if (!columns[at] || !hasContent(value)) return html`<td>${value}</td>`;
    return html`<td data-label="${columns[at]}"><div>${value}</div></td>`;
  };
  return html`<table><caption>${caption}</caption>
<thead><tr>${columns.map((column, at) => used[at] === true && heading(column))}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)}</tbody></table>`;
}

function heading(column: string): Html {
  return column === '' ? html`<td></td>` : html`<th scope="col">${column}</th>`;
}

/** False for a cell that would be empty; a column of such cells is left out. */
function hasContent(value: HtmlValue): boolean {
  return value !== undefined && value !== false && value !== '';
}

/** A remark that there is nothing to show. */
export function quiet(text: HtmlValue): Html {
  return html`<p class="quiet">${text}</p>`;
}

/** Pairs of a name and a value; those without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  const given = pairs.filter(([, value]) => hasContent(value));
  return html`<dl>${given.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const minuteMs = 60_000;
const units = [
  ['day', 1440],
  ['hour', 60],
  ['minute', 1],
] as const;

/** `in 3 days`, `2 hours ago`. */
function distance(at: number, now: number): string {
  const minutes = Math.abs(at - now) / minuteMs;
  if (minutes < 1) return 'now';
  const [unit, length] = units.find(([, least]) => minutes >= least) ?? ['minute', 1];
  const count = Math.floor(minutes / length);
  const text = `${count} ${unit}${count === 1 ? '' : 's'}`;
  return at < now ? `${text} ago` : `in ${text}`;
}

/** A time of the API to the minute, with its distance. */
export function time(text: string | undefined, now: number): Html | undefined {
  if (text === undefined) return undefined;
  const at = parseTimestamp(text);
  if (at === undefined) return html`${text}`;
  const shown = `${text.slice(0, 10)} ${text.slice(11, 16)}`;
  return html`<time datetime="${text}">${shown} <span class="quiet">${distance(at, now)}</span></time>`;
}

/** A length in the largest unit that fits. */
export function duration(seconds: number): string {
  const [unit, length] = units.find(([, minutes]) => seconds % (minutes * 60) === 0) ?? ['second', 1 / 60];
  const count = Math.round(seconds / 60 / length);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Link to the next page of a list. */
export function pager(page: string, params: Parameters, next: string | undefined): HtmlValue {
  const first = params['cursor'] !== undefined && link(page, { ...params, cursor: undefined }, 'First page');
  const more = next !== undefined && link(page, { ...params, cursor: next }, 'Next page');
  return (
    (first !== false || more !== false) && html`<nav class="pager" aria-label="Pages of the list">${first}${more}</nav>`
  );
}

const withheld: Readonly<Record<number, string>> = {
  403: 'You may not view this.',
  404: 'There is nothing to view here.',
};

/** A section whose content needs an answer; where that is refused (403, 404), it says so and the rest of the page stays. */
export async function section<Value>(
  heading: HtmlValue,
  answer: Promise<Value>,
  content: (value: Value) => HtmlValue,
): Promise<Html> {
  return html`<section><h2>${heading}</h2>
${await granted(answer, content, (reason) => quiet(reason))}</section>`;
}

/** Content from an answer, or from why there is none. */
export async function granted<Value, Result>(
  answer: Promise<Value>,
  content: (value: Value) => Result,
  otherwise: (reason: string) => Result,
): Promise<Result> {
  try {
    return content(await answer);
  } catch (error) {
    const reason = error instanceof ApiRefusedError ? withheld[error.status] : undefined;
    if (reason === undefined) throw error;
    return otherwise(reason);
  }
}
