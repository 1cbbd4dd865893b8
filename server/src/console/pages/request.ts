import { required } from '../form-names.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { badge, code, facts, link, nameLink, quiet, table, time } from '../parts.ts';
import { readRequest } from '../questions.ts';
import { accessEffect, approvalsOf, changeTable, objectEffect, requestState, subjectOf } from '../request-parts.ts';
import type { ShownRequest } from '../request-shapes.ts';

/** A change request: who asks for what and why, its exact effect, and the forms that decide it. */
export const requestPage: PageFunction = async ({ call, now, me }, params) => {
  const request = await readRequest(call, required(params, 'id'));
  const { id, author, created, expires, closed, reason, domains, role, state } = request;
  const isMine = author === me;
  const body = html`<p class="crumbs">${link('requests', {}, 'Requests')}</p>
<h1>Request ${id}</h1>
<p class="lead">${code(subjectOf(request))}</p>
<p class="badges">${requestState(request)} ${state === 'unreviewed' && badge('break-glass: applied without approval', 'bad')}</p>
${facts([
  ['By', nameLink(author)],
  ['Reason', reason],
  ['Made', time(created, now)],
  ['Open until', state === 'open' && time(expires, now)],
  ['Closed', time(closed, now)],
  ['Domains', domains.map((name) => html`${link('domain', { name }, code(name))} `)],
  ['Role', role !== undefined && nameLink(role)],
  ['Approvals', approvalsOf(request)],
])}
${effect(request, isMine)}
${approvals(request, now)}
${decision(request, isMine)}
${sent(request)}`;
  return { title: `Request ${id}`, at: 'requests', body };
};

function effect({ plan, outcome, problem, state, seenByAuthor }: ShownRequest, isMine: boolean): HtmlValue {
  if (problem !== undefined) {
    return html`<section><h2>Effect</h2><p class="notice bad">It can no longer be made: ${problem}</p></section>`;
  }
  if (outcome !== undefined) {
    return html`<section><h2>What it did</h2>
${changeTable('Objects that were changed', outcome.changes)}</section>
<section><h2>What undoes it</h2>
${changeTable('Changes that undo it', outcome.undo)}</section>`;
  }
  if (plan === undefined)
    return html`<section><h2>Effect</h2>${quiet('The effect is not kept once a request is closed: the audit log has what was before and after.')}</section>`;
  const remarks = [...(plan.refusals ?? []), ...(plan.warnings ?? [])];
  return html`<section><h2>${state === 'open' ? 'Effect if it is applied now' : 'Effect'}</h2>
${seenByAuthor === false && html`<p class="notice">The effect differs from the one that ${isMine ? 'you' : 'its author'} saw.</p>`}
${remarks.length > 0 && html`<ul class="notice">${remarks.map(({ message }) => html`<li>${message}</li>`)}</ul>`}
${accessEffect(plan)}
${objectEffect(plan)}</section>`;
}

function approvals({ approvals: given }: ShownRequest, now: number): Html {
  const rows = given.map(({ by, at, comment, current }): readonly HtmlValue[] => [
    nameLink(by),
    time(at, now),
    current ? badge('valid', 'good') : badge('the effect changed since', 'warn'),
    comment ?? '–',
  ]);
  const columns = ['By', 'Time (UTC)', 'State', 'Comment'];
  return html`<section><h2>Approvals</h2>
${table({ caption: 'Approvals of this request', columns, rows, empty: 'Nobody has approved it.' })}</section>`;
}

/** The forms for this person: the author withdraws, others approve or reject. The API decides who may. */
function decision({ id, state, plan }: ShownRequest, isMine: boolean): HtmlValue {
  if (state !== 'open' && state !== 'unreviewed') return undefined;
  const hidden = html`<input type="hidden" name="id" value="${id}">`;
  if (isMine) {
    if (state === 'unreviewed') return html`<section>${quiet('Another person has to review it.')}</section>`;
    return html`<section class="panel"><h2>Withdraw</h2>
<form method="post" action="withdraw">${hidden}<p><button type="submit">Withdraw request ${id}</button></p></form></section>`;
  }
  const isApprovable = state === 'unreviewed' || plan !== undefined;
  return html`<div class="columns">
${
  isApprovable &&
  html`<section class="panel"><h2>${state === 'open' ? 'Approve' : 'Accept'}</h2>
<p>${state === 'open' ? 'You approve exactly the effect above. If it changes meanwhile, the approval is refused.' : 'It was applied already. You confirm that it was right.'}</p>
<form method="post" action="approve">${hidden}
${state === 'open' && html`<input type="hidden" name="plan" value="${plan?.digest}">`}
<p><label for="approve-comment">Comment (optional)</label> <input id="approve-comment" name="comment" type="text" maxlength="1024"></p>
<p><button type="submit">${state === 'open' ? 'Approve this effect' : 'Accept'}</button></p></form></section>`
}
<section class="panel"><h2>Reject</h2>
<p>${state === 'open' ? 'Nothing changes.' : 'It stays in force and unreviewed: undo it yourself, then accept.'} The author sees your comment.</p>
<form method="post" action="reject">${hidden}
<p><label for="reject-comment">Comment</label> <input id="reject-comment" name="comment" type="text" maxlength="1024" required></p>
<p><button type="submit" class="danger">Reject</button></p></form></section></div>`;
}

/** Stored operation with its body, or names of the files. */
function sent({ operation, files = [] }: ShownRequest): HtmlValue {
  if (operation === undefined && files.length === 0) return undefined;
  const { method, path, query, body } = operation ?? {};
  return html`<section><h2>What was sent</h2>
${
  operation !== undefined &&
  html`<details><summary><code>${method} ${path}</code></summary><pre tabindex="0">
${JSON.stringify({ query, body }, null, 2)}</pre></details>`
}
${files.map(
  ({ name, text }) => html`<details><summary>${code(name)}</summary><pre tabindex="0">
${text ?? ''}</pre></details>`,
)}</section>`;
}
