import { parseTimestamp } from '@signet/policy-engine/clock';
import { type Html, type HtmlValue, html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { code, granted, nameLink, quiet, table, time } from '../parts.ts';
import { readHits, readRequests, readReviews } from '../questions.ts';
import { requestTable } from '../request-parts.ts';
import type { SearchHit } from '../shapes.ts';
import { reviewTable } from './reviews.ts';
import { questionForm } from './why.ts';

/** Home page: requests, reviews and roles of the person, and a form for a question. */
export const homePage: PageFunction = async ({ call, me, now }) => {
  const [awaiting, own, unreviewed, reviews, roles] = await Promise.all([
    requestPart('await', 'Requests that await you', readRequests(call, { awaiting: 'me' }), now),
    requestPart('own', 'Your open requests', readRequests(call, { author: me, state: 'open' }), now),
    requestPart('unreviewed', 'Break-glass without review', readRequests(call, { state: 'unreviewed' }), now),
    part('reviews', 'Reviews due', readReviews(call, {}), ({ items }) => [items.length, reviewTable(items, now)]),
    part('roles', 'Your roles that end', readHits(call, { member: me }), ({ items }) => {
      const ending = endingOf(items);
      return [ending.length, endingTable(ending, now)];
    }),
  ]);
  const parts = [awaiting, own, unreviewed, reviews, roles];
  const filled = parts.filter(({ count }) => count !== '0');
  const body = html`<h1>What awaits ${code(me)}</h1>
<ul class="counts">${parts.map(tile)}</ul>
${filled.map(
  ({ id, heading, content }) => html`<section id="${id}"><h2>${heading}</h2>
${content}</section>`,
)}
<section><h2>Ask why</h2>
${questionForm(new Map(), me)}</section>`;
  return { title: 'Home', at: '', body };
};

/** Number of a part; a link where there is something to see. */
function tile({ id, heading, count }: HomePart): Html {
  const text = html`<strong>${count ?? '–'}</strong> ${heading}`;
  return count === '0' ? html`<li><span>${text}</span></li>` : html`<li><a href="#${id}">${text}</a></li>`;
}

interface HomePart {
  readonly id: string;
  readonly heading: string;
  /** Items; undefined where the person may not know. */
  readonly count: string | undefined;
  readonly content: HtmlValue;
}

async function part<Value extends { readonly next?: string }>(
  id: string,
  heading: string,
  answer: Promise<Value>,
  content: (value: Value) => readonly [count: number, content: HtmlValue],
): Promise<HomePart> {
  const shown = (value: Value): HomePart => {
    const [count, body] = content(value);
    return { id, heading, count: `${count}${value.next === undefined ? '' : '+'}`, content: body };
  };
  return await granted(answer, shown, (reason) => ({ id, heading, count: undefined, content: quiet(reason) }));
}

function requestPart(id: string, heading: string, answer: ReturnType<typeof readRequests>, now: number) {
  return part(id, heading, answer, ({ items }) => [items.length, requestTable(items, now, 'None.')]);
}

type Ending = SearchHit & { readonly expires: string };

/** Memberships with an end, those that end first before the others. */
function endingOf(hits: readonly SearchHit[]): readonly Ending[] {
  const ending = hits.flatMap(({ expires, ...hit }) => (expires === undefined ? [] : [{ ...hit, expires }]));
  return ending.sort((a, b) => (parseTimestamp(a.expires) ?? 0) - (parseTimestamp(b.expires) ?? 0));
}

function endingTable(ending: readonly Ending[], now: number): Html {
  const rows = ending.map(({ domain, kind, name, expires }): readonly HtmlValue[] => [
    nameLink(`${domain}:${kind}.${name}`),
    time(expires, now),
  ]);
  const columns = ['Role or group', 'Ends'];
  return table({ caption: 'Your memberships that end', columns, rows, empty: 'No membership of yours ends.' });
}
