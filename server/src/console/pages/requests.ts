import { html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { code, link, pager } from '../parts.ts';
import { readRequests } from '../questions.ts';
import { requestTable } from '../request-parts.ts';
import { requestStates } from '../request-shapes.ts';

/** Change requests, of one state or of all. */
export const requestsPage: PageFunction = async ({ call, now, me }, params) => {
  const [state, domain, author, awaiting, cursor] = ['state', 'domain', 'author', 'awaiting', 'cursor'].map(
    (name) => params.get(name) || undefined,
  );
  const filter = { state, domain, author, awaiting };
  const { items, next } = await readRequests(call, { ...filter, cursor });
  const tabs = [
    ['All', {}],
    ['Awaiting me', { awaiting: 'me' }],
    ['By me', { author: me }],
    ...requestStates.map((each) => [each, { state: each }] as const),
  ] as const;
  const chosen = JSON.stringify(filter);
  const body = html`<h1>Requests</h1>
<p class="lead">Changes that wait for approval, and what became of earlier ones.</p>
<nav class="tabs" aria-label="Filter of requests"><ul>${tabs.map(([name, query]) => {
    const isHere =
      JSON.stringify({ state: undefined, domain, author: undefined, awaiting: undefined, ...query }) === chosen;
    const text = isHere ? html`<strong>${name}</strong>` : name;
    return html`<li>${link('requests', { ...query, domain }, text)}</li>`;
  })}</ul></nav>
${domain !== undefined && html`<p>Of domain ${link('domain', { name: domain }, code(domain))} only.</p>`}
${requestTable(items, now)}
${pager('requests', { ...filter, cursor }, next)}`;
  return { title: 'Requests', at: 'requests', body };
};
