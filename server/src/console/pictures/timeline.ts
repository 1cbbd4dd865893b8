import { formatTimestamp } from '@signet/policy-engine/clock';
import { type Html, html } from '../html.ts';

/** A time during which something was or will be so. */
export interface Span {
  readonly label: string;
  readonly kind: 'membership' | 'certificate';
  /** Milliseconds; absent: before what is known. */
  readonly from?: number;
  /** Milliseconds; absent: without end. */
  readonly until?: number;
  /** It ended before its time: revoked, disabled or removed. */
  readonly isCut?: boolean;
}

export const dayMs = 86_400_000;
/** Days of a timeline before now, and behind it. */
export const pastDays = 90;
const futureDays = 30;
const rowHeight = 40;
const axisHeight = 26;

/** Draws spans over the last 90 days and the next 30, a row for each: as wide as a screen, and again for a narrow one. */
export function drawTimeline(title: string, spans: readonly Span[], now: number): Html {
  const words = spans.map(({ kind, label }) => `${kind} ${label}`).join(', ');
  return html`<figure class="picture timeline">
${(['wide', 'narrow'] as const).map((shape) => drawn({ title, words, shape, spans }, now))}
<figcaption><span class="key membership"></span> membership <span class="key certificate"></span> certificate
<span class="key cut"></span> ended early</figcaption>
</figure>`;
}

interface Drawing {
  readonly title: string;
  readonly words: string;
  readonly shape: 'wide' | 'narrow';
  readonly spans: readonly Span[];
}

function drawn({ title, words, shape, spans }: Drawing, now: number): Html {
  const width = shape === 'wide' ? 1000 : 340;
  const [start, end] = [now - pastDays * dayMs, now + futureDays * dayMs];
  const place = (at: number) => ((Math.min(Math.max(at, start), end) - start) / (end - start)) * (width - 2) + 1;
  const bottom = spans.length * rowHeight + 6;
  const ticks = [-90, -60, -30, 0].map((days) => ({ at: now + days * dayMs, days }));
  return html`<svg class="${shape}" role="img" aria-labelledby="time-${shape}-title time-${shape}-words" viewBox="0 0 ${width} ${bottom + axisHeight}">
<title id="time-${shape}-title">${title}</title><desc id="time-${shape}-words">${words}.</desc>
${ticks.map(({ at, days }) => {
  const x = round(place(at));
  const anchor = days === -90 ? 'start' : 'middle';
  return html`<line class="${days === 0 ? 'now' : 'tick'}" x1="${x}" y1="0" x2="${x}" y2="${bottom}"/>
<text class="tick" x="${x}" y="${bottom + 18}" text-anchor="${anchor}">${days === 0 ? 'today' : formatTimestamp(at).slice(5, 10)}</text>`;
})}
${spans.map((span, row) => bar(span, row, place))}
</svg>`;
}

function bar({ label, kind, from, until, isCut = false }: Span, row: number, place: (at: number) => number): Html {
  const [left, right] = [place(from ?? Number.NEGATIVE_INFINITY), place(until ?? Number.POSITIVE_INFINITY)];
  const top = row * rowHeight;
  const isRight = left > place(Number.POSITIVE_INFINITY) * 0.6;
  return html`<text class="label" x="${round(isRight ? place(Number.POSITIVE_INFINITY) : left)}" y="${top + 17}" text-anchor="${isRight ? 'end' : 'start'}">${label}</text>
<rect class="${kind}${isCut && ' cut'}" x="${round(left)}" y="${top + 23}" width="${round(Math.max(right - left, 3))}" height="10" rx="3"/>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
