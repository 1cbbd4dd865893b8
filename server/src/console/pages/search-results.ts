import { type Html, type HtmlValue, html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { code, granted, link, nameLink, quiet, table } from '../parts.ts';
import { readCertificate, readHits } from '../questions.ts';
import type { SearchHit } from '../shapes.ts';
import { endOf } from './domain.ts';

/** Search results for a text: a principal and its memberships, assertions about a resource or action, a certificate by its serial number. */
export const searchPage: PageFunction = async ({ call, now }, params) => {
  const text = params.get('q')?.trim() ?? '';
  const body = html`<h1>Search</h1>
<form method="get" action="search" class="row">
<p><label for="q">Principal, resource, action, domain, or serial number of a certificate</label>
<input id="q" name="q" type="search" value="${text}" autocomplete="off" spellcheck="false"></p>
<p><button type="submit">Search</button></p></form>
${text !== '' && (await found(call, text, now))}`;
  return { title: 'Search', body };
};

async function found(call: Parameters<typeof readHits>[0], text: string, now: number): Promise<Html> {
  const items = ({ items: hits }: { readonly items: readonly SearchHit[] }) => hits;
  const isSerial = /^[0-9a-f:]{16,80}$/i.test(text);
  const [members, resources, actions, certificate] = await Promise.all([
    granted(readHits(call, { member: text }), items, () => []),
    granted(readHits(call, { resource: text }), items, () => []),
    /[:.]/.test(text) ? [] : granted(readHits(call, { action: text }), items, () => []),
    isSerial
      ? granted(
          readCertificate(call, text),
          ({ serial }) => serial,
          () => undefined,
        )
      : undefined,
  ]);
  const hits = [...new Map([...members, ...resources, ...actions].map((hit) => [JSON.stringify(hit), hit])).values()];
  const rows = hits.map((hit): readonly HtmlValue[] => {
    const { domain, kind, name, entry } = hit;
    const full = kind === 'assertion' ? name : `${domain}:${kind}.${name}`;
    const object = kind === 'assertion' ? link('policy', { name: full }, code(full)) : nameLink(full);
    return [object, kind === 'assertion' ? 'assertion' : 'membership', code(entry), endOf(hit, now) || '–'];
  });
  return html`<section><h2>Pages</h2>
<ul class="names">
${/^[\w-]+(?:\.[\w-]+)+$/.test(text) && html`<li>principal ${nameLink(text.toLowerCase())}</li>`}
${/^[\w.-]+$/.test(text) && html`<li>domain ${link('domain', { name: text.toLowerCase() }, code(text))}</li>`}
${certificate !== undefined && html`<li>certificate ${link('certificate', { serial: certificate }, code(certificate))}</li>`}
</ul></section>
<section><h2>Found in</h2>
${table({ caption: `Objects that name ${text}`, columns: ['Object', 'Kind', 'Entry', 'End'], rows, empty: 'Nothing that you may view names it.' })}
${hits.length >= 50 && quiet('There may be more: ask for a longer text.')}</section>`;
}
