import { partsOfChange } from '../management/describe-impact.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { badge, code, duration, link, nameLink, quiet, type Tone, table, time } from './parts.ts';
import type { ObjectChange, ShownPlan, ShownRequest } from './request-shapes.ts';

const tones: Readonly<Record<ShownRequest['state'], Tone>> = {
  open: 'info',
  applied: 'good',
  rejected: 'bad',
  withdrawn: 'plain',
  expired: 'plain',
  unreviewed: 'warn',
};

export function requestState({ state }: ShownRequest): Html {
  return badge(state, tones[state]);
}

/** Content of a request on one line: the role and its time, the operation, or the files. */
export function subjectOf({ kind, role, seconds, operation, files = [], domains }: ShownRequest): string {
  if (kind === 'role') return `${role ?? 'a role'}${seconds === undefined ? '' : ` for ${duration(seconds)}`}`;
  if (operation !== undefined) return `${operation.method} ${operation.path.replace(/^\/management\/v1\//, '')}`;
  return `${files.length === 1 ? '1 file' : `${files.length} files`} for ${domains.join(', ')}`;
}

/** Approvals that count now, of those that are needed. */
export function approvalsOf({ needed, approvals }: ShownRequest): string {
  return `${approvals.filter(({ current }) => current).length} of ${needed}`;
}

export function requestTable(requests: readonly ShownRequest[], now: number, empty = 'There are no requests.'): Html {
  const rows = requests.map((request): readonly HtmlValue[] => [
    link('request', { id: String(request.id) }, html`${request.id}: ${code(subjectOf(request))}`),
    nameLink(request.author),
    requestState(request),
    approvalsOf(request),
    time(request.created, now),
    request.reason ?? '–',
  ]);
  const columns = ['Request', 'By', 'State', 'Approvals', 'Made', 'Reason'];
  return table({ caption: 'Requests, newest first', columns, rows, empty });
}

/** Table of access gained and lost, by principal. */
export function accessEffect({ impact, impactTotals }: ShownPlan): HtmlValue {
  if (impact === undefined)
    return html`<p class="notice bad">Changes of access cannot be determined: the patterns are too complex.</p>`;
  const rows = impact.map((change): readonly HtmlValue[] => {
    const { who, action, resource, where } = partsOfChange(change);
    const isGain = change.change === 'gain';
    return [
      isGain ? badge('▲ gains', 'good') : badge('▼ loses', 'bad'),
      change.within === undefined ? nameLink(change.principal) : who,
      code(action),
      code(resource),
      where === '' ? 'everywhere' : where,
    ];
  });
  const columns = ['Change', 'Who', 'Action', 'Resource', 'Where'];
  const { gains, losses, isExact } = impactTotals ?? { gains: 0, losses: 0, isExact: true };
  const least = isExact ? '' : 'at least ';
  return [
    impactTotals !== undefined &&
      html`<p class="notice">Too large to list: ${least}${gains} gains and ${least}${losses} losses, the first ${impact.length} of them here.</p>`,
    table({ caption: 'Access that changes', columns, rows, empty: 'No principal gains or loses access.' }),
  ];
}

const signs = {
  create: badge('+ adds', 'good'),
  change: badge('~ changes', 'warn'),
  delete: badge('− removes', 'bad'),
};

/** Objects that change, with their fields before and after. */
export function objectEffect({ changes, changesTotal }: Pick<ShownPlan, 'changes' | 'changesTotal'>): HtmlValue {
  return [
    changesTotal !== undefined && quiet(`${changes.length} of ${changesTotal} changes are listed.`),
    changeTable('Objects that change', changes),
  ];
}

export function changeTable(caption: string, changes: readonly ObjectChange[]): Html {
  const rows = changes.map(({ change, kind, domain, name, fields = [] }): readonly HtmlValue[] => [
    signs[change],
    html`${kind} ${code(name)}`,
    link('domain', { name: domain }, code(domain)),
    fields.length === 0
      ? '–'
      : html`<ul class="names">${fields.map(({ field, before, after }) => html`<li>${field}: <del>${before ?? 'none'}</del> → <ins>${after ?? 'none'}</ins></li>`)}</ul>`,
  ]);
  const columns = ['Change', 'Object', 'Domain', 'Fields'];
  return table({ caption, columns, rows, empty: 'No object changes.' });
}
