import { required } from '../form-names.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { type PageFunction, pathTo } from '../page.ts';
import { badge, code, duration, granted, link, nameLink, pager, quiet, section, table, time } from '../parts.ts';
import { readDomain, readGroups, readNames, readRequests, readRoles } from '../questions.ts';
import { requestTable } from '../request-parts.ts';
import type { RoleDetails, ShownDomain, ShownMember } from '../shapes.ts';

/** A domain: who is in its roles, what protects it, and its policies and services. */
export const domainPage: PageFunction = async ({ call, now }, params) => {
  const name = required(params, 'name');
  const cursor = params.get('cursor');
  const domain = await readDomain(call, name);
  const [roles, groups, policies, services, requests] = await Promise.all([
    section('Roles', readRoles(call, name, { cursor }), ({ items, next }) => [
      rolesTable(name, items, now),
      pager('domain', { name, cursor }, next),
    ]),
    granted(
      readGroups(call, name, {}),
      ({ items }) => items,
      () => [],
    ),
    section('Policies', readNames(call, name, 'policies'), ({ items }) =>
      names(items, (item) => link('policy', { name: `${name}:policy.${item}` }, code(item))),
    ),
    section('Services', readNames(call, name, 'services'), ({ items }) =>
      names(items, (item) => nameLink(`${name}.${item}`)),
    ),
    granted(
      readRequests(call, { domain: name, state: 'open' }),
      ({ items }) => items,
      () => [],
    ),
  ]);
  const body = html`<h1>${code(name)}</h1>
${domain.description !== undefined && html`<p class="lead">${domain.description}</p>`}
${state(domain)}
${requests.length > 0 && html`<section><h2>Open requests</h2>${requestTable(requests, now)}</section>`}
${roles}
${groups.length > 0 && html`<section><h2>Groups</h2>${groupsTable(name, groups, now)}</section>`}
<div class="columns">${policies}${services}</div>
<p>${link('audit', { domain: name }, 'Changes of this domain')}</p>`;
  return { title: name, at: 'domains', body };
};

function state({ enabled = true, requireReason = false, approvals = 0 }: ShownDomain): Html {
  return html`<p class="badges">${enabled ? badge('enabled', 'good') : badge('disabled', 'bad')}
${approvalBadge(approvals)}
${requireReason && badge('every change needs a reason', 'info')}</p>`;
}

/** Badge of a protected domain or role. */
function approvalBadge(approvals: number | undefined): HtmlValue {
  if (approvals === undefined || approvals === 0) return false;
  return badge(`protected: ${approvals} ${approvals === 1 ? 'approval' : 'approvals'}`, 'info');
}

function rolesTable(domain: string, roles: readonly RoleDetails[], now: number): Html {
  const rows = roles.map((role): readonly HtmlValue[] => {
    const full = `${domain}:role.${role.name}`;
    const { description, trust, requestSeconds, members, more } = role;
    return [
      html`${link('role', { name: full }, code(role.name))}
${description !== undefined && html`<br><span class="quiet">${description}</span>`}`,
      trust === undefined ? memberList(members, more === true && full, now) : html`as domain ${nameOf(trust)} decides`,
      rules(role),
      requestSeconds !== undefined &&
        html`<a class="button" href="${pathTo('role', { name: full })}#ask">Request<span class="hidden"> ${role.name}</span></a>`,
    ];
  });
  const columns = ['Role', 'Members', 'Rules', ''];
  return table({ caption: `Roles of ${domain} and who is in them`, columns, rows, empty: 'This domain has no roles.' });
}

/** Badges of a role: approvals that it needs, the time for which it can be requested. */
export function rules({ approvals = 0, requestSeconds }: RoleDetails): HtmlValue {
  if (approvals === 0 && requestSeconds === undefined) return undefined;
  return html`<span class="badges">${approvalBadge(approvals)}
${requestSeconds !== undefined && badge(`on request, up to ${duration(requestSeconds)}`)}</span>`;
}

function groupsTable(domain: string, groups: readonly RoleDetails[], now: number): Html {
  const rows = groups.map((group): readonly HtmlValue[] => {
    const full = `${domain}:group.${group.name}`;
    return [
      link('role', { name: full }, code(group.name)),
      memberList(group.members, group.more === true && full, now),
    ];
  });
  const columns = ['Group', 'Members'];
  return table({ caption: `Groups of ${domain}`, columns, rows, empty: 'This domain has no groups.' });
}

function nameOf(domain: string): Html {
  return link('domain', { name: domain }, code(domain));
}

/** Members with their ends; `more`: the list that has further ones. */
function memberList(members: readonly ShownMember[] | undefined, more: string | false, now: number): Html {
  if (members === undefined) return quiet('You may not view this.');
  if (members.length === 0) return quiet('nobody');
  return html`<ul class="names">${members.map((member) => html`<li>${nameLink(member.name)} ${endOf(member, now)}</li>`)}
${more !== false && html`<li>${link('role', { name: more }, 'and more')}</li>`}</ul>`;
}

/** State and end of a membership, as far as there is something to say. */
export function endOf({ expires, disabled }: Pick<ShownMember, 'expires' | 'disabled'>, now: number): HtmlValue {
  if (disabled === true) return badge('disabled', 'bad');
  return expires !== undefined && html`<span class="quiet">until ${time(expires, now)}</span>`;
}

function names(items: readonly string[], linked: (item: string) => Html): Html {
  if (items.length === 0) return quiet('none');
  return html`<ul class="names">${items.map((item) => html`<li>${linked(item)}</li>`)}</ul>`;
}
