import { z } from 'zod';
import type { Call } from '../api.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import type { PageFunction, Params } from '../page.ts';
import { code, granted, link, nameLink, pager, quiet, time } from '../parts.ts';
import { readChanges, readDomains } from '../questions.ts';
import type { ShownChange } from '../shapes.ts';

const filters = ['domain', 'about', 'actor', 'since', 'until'] as const;

/** The audit log: who changed what, with the state before and after. */
export const auditPage: PageFunction = async ({ call, now }, params) => {
  const { domain, since, until, ...given } = Object.fromEntries(
    filters.map((name) => [name, params.get(name)?.trim() || undefined]),
  );
  const cursor = params.get('cursor');
  const query = { ...given, since: dayOf(since), until: dayOf(until) };
  const filter = { domain, since, until, ...given };
  const records = await granted(
    readChanges(call, domain, { ...query, cursor }),
    ({
      items,
      next,
    }) => html`${items.length === 0 ? quiet('No record fits.') : html`<ol class="records">${items.map((record) => shown(record, now))}</ol>`}
${pager('audit', { ...filter, cursor }, next)}`,
    () => undefined,
  );
  const body = html`<h1>Audit</h1>
<p class="lead">Every change, newest first, with what was before and after.</p>
${filterForm(params)}
${records ?? (await otherLogs(call, filter))}`;
  return { title: 'Audit', at: 'audit', body };
};

/** In place of a log that the person may not view: those of its domains. */
async function otherLogs(call: Call, filter: Readonly<Record<string, string | undefined>>): Promise<Html> {
  const { domain } = filter;
  const { items } = await readDomains(call);
  const whose = domain === undefined ? 'of all domains' : `of ${domain}`;
  return html`<p class="notice">You may not view the audit log ${whose}. These domains are the ones that you may view:</p>
<ul class="tiles">${items.map((name) => html`<li>${link('audit', { ...filter, domain: name }, code(name))}</li>`)}</ul>`;
}

/** A day of a form begins at midnight UTC. */
function dayOf(text: string | undefined): string | undefined {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
}

function filterForm(params: Params): Html {
  const field = (name: (typeof filters)[number], label: string, type: 'text' | 'date') =>
    html`<p><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${params.get(name) ?? ''}"${type === 'text' && html` autocomplete="off" spellcheck="false"`}></p>`;
  return html`<form method="get" action="audit" class="row">
${field('domain', 'Domain', 'text')}
${field('about', 'About a name', 'text')}
${field('actor', 'Changed by', 'text')}
${field('since', 'From day', 'date')}
${field('until', 'Before day', 'date')}
<p><button type="submit">Filter</button></p>
</form>`;
}

function shown(record: ShownChange, now: number): Html {
  const { id, at, actor, action, subject, reason, certificateSerial, before, after } = record;
  return html`<li><article aria-labelledby="record-${id}"><h2 id="record-${id}"><span class="quiet">${id}</span> ${action} ${code(subject)}</h2>
<p>${touched(before, after)}${time(at, now)} by ${nameLink(actor)}${reason !== undefined && html`: ${reason}`}
${certificateSerial !== undefined && html`<span class="quiet">with certificate ${link('certificate', { serial: certificateSerial }, html`<code>${certificateSerial.slice(0, 8)}…</code>`)}</span>`}</p>
${
  (before !== undefined || after !== undefined) &&
  html`<details><summary>Before and after<span class="hidden"> record ${id}</span></summary>
<div class="columns">${side('Before', id, before)}${side('After', id, after)}</div></details>`
}</article></li>\n`;
}

const sideShape = z.record(z.string(), z.array(z.object({ name: z.string() })));
const kinds: Readonly<Record<string, string>> = {
  roles: 'role',
  groups: 'group',
  policies: 'policy',
  services: 'service',
};
const shownObjects = 6;

/** Objects of a domain that a record is about. */
function touched(before: unknown, after: unknown): HtmlValue {
  const names = new Set(
    [before, after].flatMap((side) =>
      Object.entries(kinds).flatMap(([list, kind]) => {
        const items = sideShape.safeParse({ [list]: member(side, list) }).data?.[list] ?? [];
        return items.map(({ name }) => `${kind} ${name}`);
      }),
    ),
  );
  if (names.size === 0) return undefined;
  const shown = [...names].slice(0, shownObjects).join(', ');
  const more = names.size > shownObjects ? ` and ${names.size - shownObjects} more` : '';
  return html`<span class="touched">${shown}${more}</span><br>`;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

function side(name: string, id: number, value: unknown): HtmlValue {
  return html`<div><h3>${name}<span class="hidden"> record ${id}</span></h3>
${
  value === undefined
    ? quiet('nothing')
    : html`<pre tabindex="0">
${JSON.stringify(value, null, 2)}</pre>`
}</div>`;
}
