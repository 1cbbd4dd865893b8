import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import { describeConditions } from '../../management/describe-assertion.ts';
import { describePath } from '../../management/describe-explanation.ts';
import { certificateTable } from '../certificate-parts.ts';
import { required } from '../form-names.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import type { PageContext, PageFunction } from '../page.ts';
import { badge, code, facts, granted, link, nameLink, pager, section, table, time } from '../parts.ts';
import { membershipSpans } from '../pictures/membership-spans.ts';
import { dayMs, drawTimeline, pastDays, type Span } from '../pictures/timeline.ts';
import { readAccess, readCertificates, readChanges, readHits, readService } from '../questions.ts';
import type { SearchHit, ShownCertificate, ShownChange } from '../shapes.ts';

/** A person or a service: what it may do, since when and until when, and its certificates. */
export const principalPage: PageFunction = async (context, params) => {
  const name = required(params, 'name').toLowerCase();
  const { call, now } = context;
  const cursor = params.get('cursor');
  const [domain = '', service = ''] = splitName(name);
  const isPerson = domain === 'user';
  const [access, hits, certificates, known] = await Promise.all([
    section('What it may do', readAccess(call, name, cursor), ({ items, next }) => [
      accessTable(name, items),
      pager('principal', { name, cursor }, next),
    ]),
    granted(
      readHits(call, { member: name }),
      ({ items }) => items,
      () => [],
    ),
    granted(
      readCertificates(call, name),
      ({ items }) => items,
      () => undefined,
    ),
    isPerson
      ? undefined
      : granted(
          readService(call, domain, service),
          (found) => found,
          () => undefined,
        ),
  ]);
  const changes = await recentChanges(context, name, hits);
  const spans = [...membershipSpans(name, hits, changes ?? []), ...(certificates ?? []).flatMap(certificateSpan(now))];
  const body = html`<h1>${code(name)}</h1>
${known?.description !== undefined && html`<p class="lead">${known.description}</p>`}
<p class="badges">${badge(isPerson ? 'person' : 'service', 'info')}
${known?.enabled === false && badge('disabled', 'bad')}</p>
${facts([
  ['Domain', !isPerson && link('domain', { name: domain }, code(domain))],
  ['Public keys', known?.publicKeys !== undefined && Object.keys(known.publicKeys).join(', ')],
])}
<section><h2>Over time</h2>
${changes === undefined && html`<p class="quiet">Changes before today are left out: you may not view the audit log of its domains.</p>`}
${spans.length > 0 && drawTimeline(`Memberships and certificates of ${name} over ${pastDays} days`, spans.slice(0, drawnRows), now)}
${spanTable(name, spans, now)}</section>
${access}
<section><h2>Certificates</h2>
${certificates === undefined ? html`<p class="quiet">You may not view this.</p>` : certificateTable(name, certificates, now)}</section>
<p>${link('why', { principal: name }, 'Ask why it may do something')}</p>`;
  return { title: name, at: 'domains', body };
};

/** Rows of the picture; the table has all of them. */
const drawnRows = 30;
/** Domains whose audit logs are read for one page where the person may not read the one of all. */
const readLogs = 2;

function splitName(name: string): readonly [domain: string, service: string] {
  const dot = name.lastIndexOf('.');
  return [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
}

/** Records about a principal; undefined when the person may read no audit log that has them. */
async function recentChanges(
  { call, now }: PageContext,
  name: string,
  hits: readonly SearchHit[],
): Promise<readonly ShownChange[] | undefined> {
  const query = { about: name, since: formatTimestamp(now - pastDays * dayMs), limit: '200' };
  const read = (domain: string | undefined) =>
    granted(
      readChanges(call, domain, query),
      ({ items }) => items,
      () => undefined,
    );
  const all = await read(undefined);
  if (all !== undefined) return all;
  const domains = [...new Set(hits.map(({ domain }) => domain))].slice(0, readLogs);
  const logs = await Promise.all(domains.map(read));
  return logs.some((log) => log !== undefined) ? logs.flatMap((log) => log ?? []) : undefined;
}

function certificateSpan(now: number): (certificate: ShownCertificate) => Span[] {
  return ({ serial, subject, notBefore, notAfter, revoked }) => {
    const [from, end] = [parseTimestamp(notBefore), parseTimestamp(notAfter)];
    const until = revoked === undefined ? end : parseTimestamp(revoked.at);
    if (from === undefined || until === undefined || until < now - pastDays * dayMs) return [];
    return [
      { label: `${subject} ${serial.slice(0, 8)}…`, kind: 'certificate', from, until, isCut: revoked !== undefined },
    ];
  };
}

function spanTable(name: string, spans: readonly Span[], now: number): Html {
  const rows = spans.map(({ label, kind, from, until, isCut }): readonly HtmlValue[] => [
    kind === 'membership' ? nameLink(label) : label,
    kind,
    from === undefined
      ? `before ${formatTimestamp(now - pastDays * dayMs).slice(0, 10)}`
      : time(formatTimestamp(from), now),
    until === undefined ? 'no end' : time(formatTimestamp(until), now),
    stateOf({ isCut: isCut === true, until }, now),
  ]);
  const columns = ['What', 'Kind', 'From', 'Until', 'State'];
  const caption = `Memberships and certificates of ${name}`;
  return table({ caption, columns, rows, empty: 'No memberships and certificates that you may view.' });
}

function stateOf({ isCut, until }: { isCut: boolean; until: number | undefined }, now: number): Html {
  if (isCut) return badge('ended early', 'bad');
  return until !== undefined && until <= now ? badge('ended') : badge('in force', 'good');
}

type AccessEntry = Awaited<ReturnType<typeof readAccess>>['items'][number];

function accessTable(name: string, entries: readonly AccessEntry[]): Html {
  const rows = entries.map((entry): readonly HtmlValue[] => [
    html`${effectBadge(entry)} ${code(entry.action)}`,
    link('why', { principal: name, action: entry.action, resource: entry.resource }, code(entry.resource)),
    describeConditions(entry.conditions).trim() || 'always',
    html`<ul class="names">${entry.through.map(
      ({ role, paths }) =>
        html`<li>${nameLink(`${entry.domain}:role.${role}`)} <span class="quiet">${paths.map(describePath).join(', ')}</span></li>`,
    )}</ul>`,
    link('policy', { name: entry.policy }, code(entry.policy)),
  ]);
  const columns = ['Action', 'Resource', 'Conditions', 'Through role', 'Policy'];
  return table({
    caption: `Assertions about roles of ${name}`,
    columns,
    rows,
    empty: 'It holds no role that you may view.',
  });
}

function effectBadge({ effect, denied }: AccessEntry): Html {
  if (effect === 'DENY') return badge('deny', 'bad');
  return denied === true ? badge('allow, but denied by another', 'warn') : badge('allow', 'good');
}
