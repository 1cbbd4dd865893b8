import { html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { code, link, pager, quiet } from '../parts.ts';
import { readDomains } from '../questions.ts';

/** The domains that the person may view. */
export const domainsPage: PageFunction = async ({ call }, params) => {
  const { items, next } = await readDomains(call, params.get('cursor'));
  const body = html`<h1>Domains</h1>
<p class="lead">A domain owns roles, groups, policies and services. These are the ones that you may view.</p>
${items.length === 0 && quiet('There is no domain that you may view.')}
<ul class="tiles">${items.map((name) => html`<li>${link('domain', { name }, code(name))}</li>`)}</ul>
${pager('domains', { cursor: params.get('cursor') }, next)}`;
  return { title: 'Domains', at: 'domains', body };
};
