import { ApiRefusedError } from '../api.ts';
import { objectName, required } from '../form-names.ts';
import type { Html, HtmlValue } from '../html.ts';
import { html } from '../html.ts';
import type { PageFunction } from '../page.ts';
import { badge, code, duration, facts, granted, link, nameLink, pager, section, table, time } from '../parts.ts';
import { readGroups, readMembers, readObjectChanges, readRoles } from '../questions.ts';
import type { ShownChange, ShownMember } from '../shapes.ts';
import { rules } from './domain.ts';

/** A role or a group: its members, its recent changes, and the form to ask for it. */
export const rolePage: PageFunction = async ({ call, now, me }, params) => {
  const full = required(params, 'name');
  const { domain, kind, name } = objectName(full);
  const read = kind === 'group' ? readGroups : readRoles;
  const { items } = await read(call, domain, { name });
  const [role] = items;
  if (role === undefined) throw new ApiRefusedError(404, `${kind} \`${full}\` does not exist`);
  const cursor = params.get('cursor');
  const lists = `${kind}s`;
  const [members, changes] = await Promise.all([
    section('Members', readMembers(call, [domain, lists, name], cursor), (page) => [
      membersTable(full, page.items, now),
      pager('role', { name: full, cursor }, page.next),
    ]),
    granted(
      readObjectChanges(call, [domain, lists, name], { limit: '10' }),
      (page) => html`<section><h2>Last changes</h2>${changesTable(page.items, now)}
<p>${link('audit', { domain }, 'Before and after, in the audit log of the domain')}</p></section>`,
      () => undefined,
    ),
  ]);
  const { requestSeconds } = role;
  const body = html`<p class="crumbs">${link('domain', { name: domain }, code(domain))}</p>
<h1>${kind === 'group' ? 'Group' : 'Role'} ${code(name)}</h1>
${role.description !== undefined && html`<p class="lead">${role.description}</p>`}
${rules(role)}
${facts([['Members decided by', role.trust !== undefined && link('domain', { name: role.trust }, role.trust)]])}
${requestSeconds !== undefined && requestForm(full, requestSeconds, me)}
${members}
${changes}`;
  return { title: full, at: 'domains', body };
};

function membersTable(list: string, members: readonly ShownMember[], now: number): Html {
  const rows = members.map(({ name, expires, review, disabled }): readonly HtmlValue[] => [
    nameLink(name),
    disabled === true ? badge('disabled', 'bad') : badge('active', 'good'),
    time(expires, now) ?? 'no end',
    time(review, now) ?? '–',
  ]);
  const columns = ['Member', 'State', 'Ends', 'Next review'];
  return table({ caption: `Members of ${list}`, columns, rows, empty: 'Nobody is a member.' });
}

function changesTable(changes: readonly ShownChange[], now: number): Html {
  const rows = changes.map(({ at, actor, reason }): readonly HtmlValue[] => [
    time(at, now),
    nameLink(actor),
    reason ?? '–',
  ]);
  const columns = ['Time (UTC)', 'By', 'Reason'];
  return table({ caption: 'Last changes, newest first', columns, rows, empty: 'No changes are recorded.' });
}

const lengths = [900, 3600, 4 * 3600, 8 * 3600, 86_400, 7 * 86_400, 30 * 86_400];

/** Form to ask for the role, with the lengths that the role permits. */
function requestForm(role: string, most: number, me: string): Html {
  const offered = [...new Set([...lengths.filter((seconds) => seconds < most), most])];
  const option = (seconds: number) =>
    seconds === (offered.includes(3600) ? 3600 : most)
      ? html`<option value="${seconds}" selected>${duration(seconds)}</option>`
      : html`<option value="${seconds}">${duration(seconds)}</option>`;
  return html`<section id="ask" class="panel"><h2>Request this role</h2>
<form method="post" action="request-role">
<input type="hidden" name="role" value="${role}">
<p><label for="seconds">For how long</label> <select id="seconds" name="seconds">${offered.map(option)}</select></p>
<p><label for="reason">Reason</label> <input id="reason" name="reason" type="text" maxlength="1024" required></p>
<p><button type="submit">Request for ${me}</button></p>
</form></section>`;
}
