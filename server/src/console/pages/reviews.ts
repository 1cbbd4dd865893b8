import { parseTimestamp } from '@signet/policy-engine/clock';
import { type Html, type HtmlValue, html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { badge, nameLink, pager, table, time } from '../parts.ts';
import { readReviews } from '../questions.ts';

type Review = Awaited<ReturnType<typeof readReviews>>['items'][number];

/** Memberships whose review is due. */
export const reviewsPage: PageFunction = async ({ call, now }, params) => {
  const cursor = params.get('cursor');
  const { items, next } = await readReviews(call, { cursor });
  const body = html`<h1>Reviews</h1>
<p class="lead">Memberships whose review is due, the oldest first. Set the next review with <code>signet role member add … --review</code>, or remove the member.</p>
${reviewTable(items, now)}
${pager('reviews', { cursor }, next)}`;
  return { title: 'Reviews', at: 'reviews', body };
};

export function reviewTable(reviews: readonly Review[], now: number): Html {
  const rows = reviews.map(({ domain, kind, name, member, review, expires }): readonly HtmlValue[] => [
    nameLink(member),
    nameLink(`${domain}:${kind}.${name}`),
    html`${time(review, now)} ${isDue(review, now) && badge('due', 'warn')}`,
    time(expires, now) ?? 'no end',
  ]);
  const columns = ['Member', 'Of', 'Review', 'Ends'];
  return table({ caption: 'Memberships due for review', columns, rows, empty: 'No review is due.' });
}

function isDue(review: string, now: number): boolean {
  return (parseTimestamp(review) ?? now) <= now;
}
